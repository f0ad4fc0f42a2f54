//! Figures for Prometheus.
use super::work::Counts;
use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};
use std::env::consts::{ARCH, OS};
use std::time::Duration;

/// The optional features that are built in.
const FEATURES: &str = if sizewise_solve::HAS_SMT { "smt,service" } else { "service" };

/// The bounds of the histogram of latencies, in seconds.
const LATENCIES: &[f64] =
    &[0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// All figures.
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    seconds: HistogramVec,
    /// Requests refused, by the problem's code.
    pub problems: IntCounterVec,
    /// Queries answered, by command.
    pub queries: IntCounterVec,
    /// Verdicts, by verdict and by the rung that decided. Those from the cache are not counted again.
    pub decided: IntCounterVec,
    /// Questions that a budget ended, by command.
    pub exhausted: IntCounterVec,
    /// Look-ups that found an answer.
    pub hits: IntCounter,
    /// Look-ups that found none.
    pub misses: IntCounter,
    /// Bugs come upon while answering.
    pub panics: IntCounter,
    /// Environments.
    pub envs: IntGauge,
    /// Environments not made because there were too many, by whose: of one `token`, or of `all`.
    pub envs_refused: IntCounterVec,
    /// Pieces of work that run, by lane.
    pub running: IntGaugeVec,
    /// Pieces of work that wait, by lane.
    pub queued: IntGaugeVec,
    /// What became of pieces of work.
    pub work: Counts,
    /// Requests that were accepted and not answered yet.
    pub in_flight: IntGauge,
    /// Connections.
    pub connections: IntGauge,
    /// Connections without a request in progress.
    pub idle: IntGauge,
    /// Connections closed to make room, by reason: `idle`, or `refused` where none was idle.
    pub closed: IntCounterVec,
    /// Bytes of memory in use.
    pub resident: IntGauge,
}

impl Metrics {
    /// All figures at zero.
    ///
    /// # Errors
    /// When two figures have one name.
    pub fn new() -> prometheus::Result<Metrics> {
        let registry = Registry::new();
        let counters = |name: &str, help: &str, labels: &[&str]| {
            let metric = IntCounterVec::new(Opts::new(format!("sizewise_{name}"), help), labels)?;
            registry.register(Box::new(metric.clone()))?;
            prometheus::Result::Ok(metric)
        };
        let counter = |name: &str, help: &str| {
            let metric = IntCounter::new(format!("sizewise_{name}"), help)?;
            registry.register(Box::new(metric.clone()))?;
            prometheus::Result::Ok(metric)
        };
        let gauge = |name: &str, help: &str| {
            let metric = IntGauge::new(format!("sizewise_{name}"), help)?;
            registry.register(Box::new(metric.clone()))?;
            prometheus::Result::Ok(metric)
        };
        let gauges = |name: &str, help: &str, labels: &[&str]| {
            let metric = IntGaugeVec::new(Opts::new(format!("sizewise_{name}"), help), labels)?;
            registry.register(Box::new(metric.clone()))?;
            prometheus::Result::Ok(metric)
        };
        let build = gauges("build_info", "1, with what was built.", &["version", "features", "os", "arch"])?;
        build.with_label_values(&[env!("CARGO_PKG_VERSION"), FEATURES, OS, ARCH]).set(1);
        let seconds = HistogramVec::new(
            HistogramOpts::new(
                "sizewise_request_seconds",
                "How long requests took, batches to their first answer.",
            )
            .buckets(LATENCIES.to_vec()),
            &["endpoint"],
        )?;
        registry.register(Box::new(seconds.clone()))?;
        Ok(Metrics {
            requests: counters(
                "requests_total",
                "Requests by endpoint and status.",
                &["endpoint", "status"],
            )?,
            seconds,
            problems: counters("problems_total", "Requests refused, by code.", &["code"])?,
            queries: counters("queries_total", "Queries answered, by command.", &["command"])?,
            decided: counters("decided_total", "Verdicts by rung.", &["verdict", "rung"])?,
            exhausted: counters("budget_exhausted_total", "Questions that a budget ended.", &["command"])?,
            hits: counter("cache_hits_total", "Answers found in the cache.")?,
            misses: counter("cache_misses_total", "Answers not found in the cache.")?,
            panics: counter("panics_total", "Bugs come upon while answering.")?,
            envs: gauge("envs", "Environments that live.")?,
            envs_refused: counters(
                "envs_refused_total",
                "Environments not made because there were too many, of one token or of all.",
                &["of"],
            )?,
            running: gauges("work_running", "Pieces of work that run.", &["lane"])?,
            queued: gauges("work_queued", "Pieces of work that wait.", &["lane"])?,
            work: Counts {
                moved: counter("work_moved_total", "Pieces of work moved to the long lane.")?,
                late: counter("work_late_total", "Pieces of work cancelled at their deadline.")?,
            },
            in_flight: gauge("in_flight", "Requests accepted and not answered yet.")?,
            connections: gauge("connections", "Open connections.")?,
            idle: gauge("connections_idle", "Open connections without a request in progress.")?,
            closed: counters(
                "connections_closed_total",
                "Connections closed because there were too many: idle ones, or new ones refused.",
                &["why"],
            )?,
            resident: gauge("resident_bytes", "Bytes of memory in use.")?,
            registry,
        })
    }

    /// Counts a request.
    pub fn request(&self, endpoint: &str, status: u16, took: Duration) {
        self.requests.with_label_values(&[endpoint, status_text(status)]).inc();
        self.seconds.with_label_values(&[endpoint]).observe(took.as_secs_f64());
    }

    /// The figures in Prometheus' text form.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        // Writing to memory fails only where a figure is malformed; what was written before it is given.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// A status as text, without making one for the usual ones.
fn status_text(status: u16) -> &'static str {
    match status {
        200 => "200",
        201 => "201",
        204 => "204",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        405 => "405",
        408 => "408",
        413 => "413",
        415 => "415",
        422 => "422",
        429 => "429",
        500 => "500",
        503 => "503",
        504 => "504",
        _ => "other",
    }
}

/// The resident bytes of this process; none where the system does not say.
pub fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    // Linux counts in pages of 4 KiB on the machines that the service is built for.
    Some(pages * 4096)
}
