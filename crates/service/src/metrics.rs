//! Metrics for Prometheus.
use super::work::Counts;
use prometheus::{
    Encoder, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    TextEncoder,
};
use std::env::consts::{ARCH, OS};
use std::time::Duration;

/// The optional features of this build.
const FEATURES: &str = if sizewise_solve::HAS_SMT { "smt,service" } else { "service" };

/// The buckets of the latency histogram, in seconds.
const LATENCIES: &[f64] =
    &[0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// The metrics.
pub struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    seconds: HistogramVec,
    /// Refused requests, by problem code.
    pub problems: IntCounterVec,
    /// Answered questions, by command.
    pub queries: IntCounterVec,
    /// Verdicts, by verdict and rung; cached ones are not counted again.
    pub decided: IntCounterVec,
    /// Questions that exhausted their budget, by command.
    pub exhausted: IntCounterVec,
    /// Cache hits.
    pub hits: IntCounter,
    /// Cache misses.
    pub misses: IntCounter,
    /// Panics while answering.
    pub panics: IntCounter,
    /// Environments.
    pub envs: IntGauge,
    /// Environments refused because there were too many: of one `token`, or of `all`.
    pub envs_refused: IntCounterVec,
    /// Running tasks, by lane.
    pub running: IntGaugeVec,
    /// Waiting tasks, by lane.
    pub queued: IntGaugeVec,
    /// Outcomes of work.
    pub work: Counts,
    /// Requests in flight.
    pub in_flight: IntGauge,
    /// Connections.
    pub connections: IntGauge,
    /// Idle connections.
    pub idle: IntGauge,
    /// Connections closed to make room, by reason: `idle`, or `refused` where none was idle.
    pub closed: IntCounterVec,
    /// Resident bytes.
    pub resident: IntGauge,
}

impl Metrics {
    /// All metrics at zero.
    ///
    /// # Errors
    /// When two metrics have the same name.
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
            queries: counters("queries_total", "Questions answered, by command.", &["command"])?,
            decided: counters("decided_total", "Verdicts by rung.", &["verdict", "rung"])?,
            exhausted: counters(
                "budget_exhausted_total",
                "Questions that exhausted their budget.",
                &["command"],
            )?,
            hits: counter("cache_hits_total", "Answers found in the cache.")?,
            misses: counter("cache_misses_total", "Answers not found in the cache.")?,
            panics: counter("panics_total", "Panics while answering.")?,
            envs: gauge("envs", "Live environments.")?,
            envs_refused: counters(
                "envs_refused_total",
                "Environments refused because there were too many, of one token or of all.",
                &["of"],
            )?,
            running: gauges("work_running", "Running tasks.", &["lane"])?,
            queued: gauges("work_queued", "Waiting tasks.", &["lane"])?,
            work: Counts {
                moved: counter("work_moved_total", "Tasks moved to the long lane.")?,
                late: counter("work_late_total", "Tasks cancelled at their deadline.")?,
            },
            in_flight: gauge("in_flight", "Requests accepted and not answered yet.")?,
            connections: gauge("connections", "Open connections.")?,
            idle: gauge("connections_idle", "Open connections without a request in progress.")?,
            closed: counters(
                "connections_closed_total",
                "Connections closed because there were too many: idle ones, or new ones refused.",
                &["why"],
            )?,
            resident: gauge("resident_bytes", "Resident bytes.")?,
            registry,
        })
    }

    /// Counts a request.
    pub fn request(&self, endpoint: &str, status: u16, took: Duration) {
        self.requests.with_label_values(&[endpoint, status_text(status)]).inc();
        self.seconds.with_label_values(&[endpoint]).observe(took.as_secs_f64());
    }

    /// The metrics in Prometheus' text format.
    pub fn text(&self) -> String {
        let mut text = Vec::new();
        // Writing to memory fails only where a metric is malformed; what was written before it is given.
        let _ = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// A status as a label, without allocation.
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

/// The resident bytes of this process; `None` where the system does not tell.
pub fn resident_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    // Linux counts in pages of 4 KiB on the machines that the service is built for.
    Some(pages * 4096)
}
