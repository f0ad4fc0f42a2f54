//! The addresses that the service listens on: all that a name resolves to.
use super::app::StartError;
use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs};
use tokio::net::TcpListener;

/// The addresses that `HOST:PORT` resolves to.
///
/// # Errors
/// When a name has none.
pub fn resolve(listen: &str) -> Result<Vec<SocketAddr>, StartError> {
    let failed = |why: String| StartError::System(format!("--listen {listen}: {why}"));
    let mut addresses: Vec<SocketAddr> = Vec::new();
    for address in listen.to_socket_addrs().map_err(|error| failed(error.to_string()))? {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    match addresses.is_empty() {
        true => Err(failed("the name has no address".to_string())),
        false => Ok(addresses),
    }
}

/// Listens on every address. Addresses that this machine does not have are skipped with a warning, unless there are no
/// others. With port 0, all addresses get the same port.
///
/// # Errors
/// When an address is in use, or there is none to listen on.
pub async fn bind(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, StartError> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    let (mut left_out, mut port) = (Vec::new(), None);
    for &address in addresses {
        let mut wanted = address;
        wanted.set_port(port.unwrap_or(address.port()));
        match TcpListener::bind(wanted).await {
            Ok(listener) => {
                port = listener.local_addr().ok().map(|bound| bound.port());
                listeners.push(listener);
            }
            Err(error) => {
                let missing = matches!(error.kind(), ErrorKind::AddrNotAvailable | ErrorKind::Unsupported);
                let failed = format!("{wanted}: {error}");
                if !missing {
                    return Err(StartError::System(failed));
                }
                left_out.push(failed);
            }
        }
    }
    if listeners.is_empty() {
        return Err(StartError::System(left_out.join("; ")));
    }
    for failed in left_out {
        tracing::warn!(failed, "this address is not listened on");
    }
    Ok(listeners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_resolved() {
        for (listen, loopback) in
            [("localhost:80", true), ("127.0.0.1:0", true), ("[::1]:9", true), ("0.0.0.0:1", false)]
        {
            let addresses = resolve(listen).unwrap();
            assert!(addresses.iter().all(|a| a.ip().is_loopback() == loopback), "{addresses:?}");
        }
        for listen in ["no-such-host.invalid:80", "localhost", "localhost:99999", ""] {
            let error = resolve(listen).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--listen {listen}: ")), "{error}");
        }
    }

    #[tokio::test]
    async fn every_address_is_listened_on_at_one_port() {
        let addresses: Vec<SocketAddr> = ["127.0.0.1:0", "127.0.0.2:0"].map(|a| a.parse().unwrap()).into();
        let listeners = bind(&addresses).await.unwrap();
        let bound: Vec<SocketAddr> = listeners.iter().map(|l| l.local_addr().unwrap()).collect();
        assert_eq!(bound.len(), 2);
        assert_eq!(bound[0].port(), bound[1].port());
        // Taken by now.
        let error = bind(&bound).await.unwrap_err().to_string();
        assert!(error.starts_with(&bound[0].to_string()), "{error}");
        // No address of this machine: left out, or all that there is.
        let foreign: SocketAddr = "192.0.2.1:0".parse().unwrap();
        assert_eq!(bind(&[foreign, addresses[0]]).await.unwrap().len(), 1);
        assert!(bind(&[foreign]).await.is_err());
    }
}
