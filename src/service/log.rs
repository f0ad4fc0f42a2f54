//! Structured logs: JSON lines on standard error, written behind the requests' back.
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

/// Begins to log. What is waiting is written when the guard goes.
///
/// # Errors
/// When the filter cannot be understood.
pub fn start(filter: &str) -> Result<WorkerGuard, String> {
    let filter = EnvFilter::try_new(filter).map_err(|error| format!("--log {filter}: {error}"))?;
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    // Somebody who embeds the service may log already.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_env_filter(filter)
        .with_writer(writer)
        .try_init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let payload = panic.payload();
        let text = payload.downcast_ref::<&str>().copied();
        let message = text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!(place, message, "panic");
    }));
    Ok(guard)
}
