//! The hosts that requests may name if no token protects the service.
//!
//! A page of another site can have its own name resolve to a loopback address (DNS rebinding); the browser then takes
//! its requests for same-site ones. They still name that site in `Host` and `Origin`.
use super::config::Config;
use super::problem::{Code, Problem};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use std::net::IpAddr;

/// The names of this service, besides those of loopback.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// In lower case.
    names: Vec<String>,
}

impl Hosts {
    /// The host of `--listen`, and those of `--allow-host`.
    pub fn new(config: &Config) -> Hosts {
        let listen = config.listen.rsplit_once(':').map_or(config.listen.as_str(), |(host, _)| host);
        let names = std::iter::once(listen).chain(config.hosts.iter().map(String::as_str));
        Hosts { names: names.map(plain).filter(|name| !name.is_empty()).collect() }
    }

    fn knows(&self, authority: &str) -> bool {
        // User names have no place here, and can pass for hosts.
        let Ok(authority) = Authority::try_from(authority) else { return false };
        let host = plain(authority.host());
        !authority.as_str().contains('@') && (is_loopback(&host) || self.names.contains(&host))
    }

    /// Checks that a request names this service, and comes from no page of another site. A browser always names a host.
    ///
    /// # Errors
    /// [`Code::UnknownHost`] and [`Code::CrossSite`].
    pub fn allow(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let text = |value: &HeaderValue| value.to_str().unwrap_or("?").to_string();
        let named = headers.get_all(header::HOST).iter().map(text);
        let named = named.chain(uri.authority().map(|authority| authority.as_str().to_string()));
        for host in named {
            if !self.knows(&host) {
                let detail = format!("`{host}` is not a name of this service");
                return Err(Problem::new(Code::UnknownHost, detail)
                    .at("header", "Host")
                    .expecting("localhost, a loopback address, or a name given with --allow-host"));
            }
        }
        for origin in headers.get_all(header::ORIGIN).iter().map(text) {
            if !origin.split_once("://").is_some_and(|(_, authority)| self.knows(authority)) {
                let detail = format!("a page of `{origin}` asks");
                return Err(Problem::new(Code::CrossSite, detail)
                    .at("header", "Origin")
                    .expecting("no Origin, or one of this machine or of a name given with --allow-host"));
            }
        }
        Ok(())
    }
}

/// A host in lower case, without brackets and the final dot.
fn plain(host: &str) -> String {
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn is_loopback(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine_and_names_given_are_known() {
        let config = Config {
            listen: "engine.local:8077".to_string(),
            hosts: vec!["Shapes.example.org".to_string()],
            ..Config::default()
        };
        let hosts = Hosts::new(&config);
        for (authority, known) in [
            ("localhost", true),
            ("localhost:8077", true),
            ("LOCALHOST.:1", true),
            ("a.localhost:8077", true),
            ("127.0.0.1:8077", true),
            ("127.9.9.9", true),
            ("[::1]:8077", true),
            ("[::ffff:127.0.0.1]", true),
            ("engine.local", true),
            ("shapes.EXAMPLE.org:443", true),
            ("example.org", false),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("notlocalhost", false),
            ("127.0.0.1.evil.example", false),
            ("0.0.0.0:8077", false),
            ("192.168.0.1:8077", false),
            ("[::2]", false),
            ("localhost@evil.example", false),
            ("evil.example@localhost", false),
            ("", false),
            (":8077", false),
            ("a b", false),
        ] {
            assert_eq!(hosts.knows(authority), known, "{authority}");
        }
    }
}
