//! The largest size of one dimension that fits, for sizes of another.
use super::fit::{Fit, Fitted};
use super::{Sizing, SizingError, named};
use serde_json::{Value as Json, json};
use sizewise_check::report::int_json;
use sizewise_expr::{Expr, Int};
use sizewise_solve::{Budget, bounds_from};
use std::fmt::Write;

/// The most sizes of the other dimension.
const MAX_ROWS: usize = 16;

/// The sizes of two dimensions that fit together.
#[derive(Clone, Debug)]
pub struct Frontier {
    /// The dimension that is maximized.
    pub maximize: String,
    /// The other one.
    pub other: String,
    /// Sizes of the other one, with what fits.
    pub rows: Vec<(Int, Fitted)>,
}

impl Sizing<'_> {
    /// What fits, for sizes of another dimension that are about twice the one before: from its least to its greatest, or
    /// until nothing fits.
    ///
    /// # Errors
    /// As for [`Sizing::fit`].
    pub fn frontier(&mut self, fit: &Fit, other: &str) -> Result<Frontier, SizingError> {
        let e = named::dimension(self, other)?;
        let mut rows = Vec::new();
        let mut next = self.least_from(e, None, &fit.given)?;
        while let Some(size) = next {
            let mut with = fit.clone();
            with.given.push((other.to_owned(), size.clone()));
            let fitted = self.fit(&with)?;
            let is_last = fitted.fits.is_none() && !fitted.is_unlimited;
            rows.push((size.clone(), fitted));
            if is_last || rows.len() >= MAX_ROWS {
                break;
            }
            let double = (&size + &size).max(Int::ONE);
            next = match self.least_from(e, Some(&double), &fit.given)? {
                Some(next) => Some(next),
                // The greatest size itself ends the table.
                None => self.ends(e).max.value.clone().filter(|greatest| *greatest > size),
            };
        }
        let mut with = fit.clone();
        with.given.push((other.to_owned(), Int::ONE));
        Ok(Frontier { maximize: self.maximized(&with)?, other: other.to_owned(), rows })
    }

    /// The least allowed size that is at least this one.
    fn least_from(
        &mut self,
        e: Expr,
        least: Option<&Int>,
        given: &[(String, Int)],
    ) -> Result<Option<Int>, SizingError> {
        let mut env = self.env.clone();
        for (name, value) in given {
            let (e, value) = (named::dimension(self, name)?, env.pool.int(value.clone()));
            let condition = env.pool.eq(e, value);
            env.assume(condition);
        }
        if let Some(least) = least {
            let least = env.pool.int(least.clone());
            let condition = env.pool.ge(e, least);
            env.assume(condition);
        }
        let (pool, facts) = env.facts();
        let found = bounds_from(pool, facts, e, self.starts(), &Budget::default());
        Ok(found.min.filter(|_| found.min_at.is_some()))
    }
}

impl Frontier {
    /// As JSON.
    pub fn json(&self) -> Json {
        let row = |(size, fitted): &(Int, Fitted)| {
            let mut row = fitted.json();
            row["given"] = int_json(size);
            row
        };
        let rows: Vec<Json> = self.rows.iter().map(row).collect();
        json!({"maximize": self.maximize, "given": self.other, "rows": rows})
    }

    /// Whether some size fits.
    pub fn fits(&self) -> bool {
        self.rows.iter().any(|(_, fitted)| fitted.fits.is_some() || fitted.is_unlimited)
    }

    /// As a table.
    pub fn text(&self) -> String {
        let mut out = String::new();
        _ = writeln!(out, "  {:>16} {:>20} {:>16}", self.other, format!("most {}", self.maximize), "bytes");
        for (size, fitted) in &self.rows {
            let (most, bytes) = match &fitted.fits {
                Some(step) => (step.size.to_string(), step.bytes.to_string()),
                None if fitted.is_unlimited => ("any".to_owned(), String::new()),
                None => ("none".to_owned(), String::new()),
            };
            _ = writeln!(out, "  {size:>16} {most:>20} {bytes:>16}");
        }
        out
    }

    /// As a picture (SVG): both axes grow by factors of two.
    pub fn svg(&self) -> String {
        const WIDTH: f64 = 640.0;
        const HEIGHT: f64 = 400.0;
        const LEFT: f64 = 90.0;
        const BOTTOM: f64 = 50.0;
        let points: Vec<(f64, f64, String)> = self
            .rows
            .iter()
            .filter_map(|(size, fitted)| {
                let most = &fitted.fits.as_ref()?.size;
                Some((size.to_f64().max(1.0), most.to_f64().max(1.0), format!("{size}: {most}")))
            })
            .collect();
        let span = |values: &mut dyn Iterator<Item = f64>| {
            let (low, high) = values.fold((f64::MAX, 1.0_f64), |(l, h), v| (l.min(v), h.max(v)));
            let (low, high) = (low.log2().floor(), high.log2().ceil());
            if high > low { (low, high) } else { (high - 1.0, high) }
        };
        let (left, right) = span(&mut points.iter().map(|p| p.0));
        let (low, high) = span(&mut points.iter().map(|p| p.1));
        let x = |value: f64| LEFT + (value.log2() - left) / (right - left) * (WIDTH - LEFT - 30.0);
        let y = |value: f64| HEIGHT - BOTTOM - (value.log2() - low) / (high - low) * (HEIGHT - BOTTOM - 30.0);
        let name = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
        );
        let ticks = |low: f64, high: f64| {
            let step = ((high - low) / 10.0).ceil().max(1.0);
            let count = ((high - low) / step) as usize;
            (0..=count).map(move |at| (low + at as f64 * step).exp2())
        };
        for value in ticks(left, right) {
            let (at, end) = (x(value), HEIGHT - BOTTOM);
            _ = writeln!(
                out,
                "<line x1=\"{at:.1}\" y1=\"30\" x2=\"{at:.1}\" y2=\"{end}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{value}</text>",
                end + 16.0
            );
        }
        for value in ticks(low, high) {
            let at = y(value);
            _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{}\" y2=\"{at:.1}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{value}</text>",
                WIDTH - 30.0,
                LEFT - 6.0,
                at + 4.0
            );
        }
        let path: Vec<String> = points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
        _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f6feb\" stroke-width=\"2\"/>",
            path.join(" ")
        );
        for (of, most, text) in &points {
            _ = writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#1f6feb\"><title>{}</title></circle>",
                x(*of),
                y(*most),
                name(text)
            );
        }
        _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            WIDTH / 2.0,
            HEIGHT - 10.0,
            name(&self.other)
        );
        _ = writeln!(out, "<text x=\"16\" y=\"20\">most {}</text>\n</svg>", name(&self.maximize));
        out
    }
}
