# The command and the service. As it stands it serves on port 8077, to clients with a token:
#
#     docker build -t sizewise .
#     docker run --rm -v "$PWD/models:/models:ro" sizewise check /models
#     docker run -p 8077:8077 -v "$PWD/tokens.txt:/etc/sizewise/tokens.txt:ro" sizewise
FROM rust:1.90-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libz3-dev g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --profile dist --locked --bin sizewise

FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends libz3-4 && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin sizewise
COPY --from=build /source/target/dist/sizewise /usr/local/bin/sizewise
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/sizewise/
USER 10001
WORKDIR /models
EXPOSE 8077
HEALTHCHECK --interval=30s --timeout=3s --start-period=2s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/8077; printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; read -r status <&3; [[ $status == *' 200 '* ]]"]
ENTRYPOINT ["sizewise"]
CMD ["serve", "--listen", "0.0.0.0:8077", "--tokens", "/etc/sizewise/tokens.txt"]
