//! Charts of what a run measured.

mod canvas;
mod table;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use squall_io::{IoError, write_png};

use canvas::{Align, Canvas, Color};
pub use table::{SmokeTable, TargetTable};

/// The file that is drawn, and what it is drawn from.
const CHART: &str = "targets.png";
const TABLE: &str = "targets.csv";

const WIDTH: usize = 1000;
/// Around the panels, in pixels: room for numbers at the left and the right.
const SIDE: f32 = 84.0;
const RIGHT: f32 = WIDTH as f32 - SIDE;
const LETTERS: f32 = 20.0;
const LEGEND_ROW: f32 = 28.0;
/// Between the largest number and the upper end of a panel: a level line does not hide in its frame.
const HEADROOM: f32 = 12.0;

const TEXT: Color = [0x30, 0x34, 0x3a];
const FRAME: Color = [0x9a, 0xa0, 0xa8];
const RULE: Color = [0xe6, 0xe8, 0xeb];
const CHANGE: Color = [0xb4, 0xa0, 0x78];
const ENERGY: Color = [0x55, 0x58, 0x60];
/// One for each smoke, in turn: told apart by those who see few colours, too. The second is for smoothed errors.
const PALETTE: [[Color; 2]; 5] = [
    [[0x00, 0x72, 0xb2], [0x8c, 0xc1, 0xe0]],
    [[0xd5, 0x5e, 0x00], [0xf0, 0xb8, 0x8c]],
    [[0x00, 0x9e, 0x73], [0x8c, 0xd3, 0xbe]],
    [[0xb0, 0x4a, 0x86], [0xdf, 0xb4, 0xcd]],
    [[0x7a, 0x5c, 0xc8], [0xc3, 0xb6, 0xe8]],
];

/// Draws `targets.png` from the `targets.csv` of a finished run. `None` if there is none.
pub fn draw_targets(folder: &Path) -> Result<Option<PathBuf>, IoError> {
    let Some(table) = TargetTable::read(folder.join(TABLE))? else { return Ok(None) };
    let canvas = target_chart(&table);
    let path = folder.join(CHART);
    write_png(&path, canvas.width as u32, canvas.height as u32, &canvas.pixels)?;
    Ok(Some(path))
}

/// A line of a panel.
struct Line<'a> {
    label: String,
    values: &'a [f64],
    color: Color,
    width: f32,
}

/// Errors above, mass and energy below, over the same time.
fn target_chart(table: &TargetTable) -> Canvas {
    let (mut errors, mut masses) = (Vec::new(), Vec::new());
    for (k, smoke) in table.smokes.iter().enumerate() {
        let [strong, pale] = PALETTE[k % PALETTE.len()];
        let name = if table.smokes.len() > 1 { format!("{}: ", shortened(&smoke.name)) } else { String::new() };
        let line = |label, values, color, width| Line { label: format!("{name}{label}"), values, color, width };
        errors.push(line("smoothed error", &smoke.smooth_error, pale, 2.0));
        errors.push(line("raw error", &smoke.raw_error, strong, 2.5));
        masses.push(line("mass", &smoke.mass, strong, 2.5));
    }
    if table.changes().next().is_some() {
        errors.push(Line { label: "next target".into(), values: &[], color: CHANGE, width: 1.5 });
    }
    let energy = Line { label: "energy (right)".into(), values: &table.energy, color: ENERGY, width: 1.5 };
    let (above, below) = (errors.len(), masses.len() + 1);
    let rows = |count: usize| count.div_ceil(LEGEND_COLUMNS) as f32 * LEGEND_ROW;
    let tops = [20.0 + rows(above), 20.0 + rows(above) + 340.0 + 44.0 + rows(below)];
    let height = (tops[1] + 200.0 + 70.0) as usize;
    let mut canvas = Canvas::white(WIDTH, height);
    let time = Axis::new([table.times.as_slice()], SIDE, RIGHT);

    let panel = Panel { top: tops[0], height: 340.0, time: &time };
    let values = panel.frame(&mut canvas, errors.iter().map(|line| line.values), Align::Right);
    panel.changes(&mut canvas, table);
    panel.lines(&mut canvas, table, &errors, &values);
    panel.legend(&mut canvas, errors.iter());

    let panel = Panel { top: tops[1], height: 200.0, time: &time };
    let mass = panel.frame(&mut canvas, masses.iter().map(|line| line.values), Align::Right);
    let power = panel.frame(&mut canvas, [energy.values], Align::Left);
    panel.changes(&mut canvas, table);
    panel.lines(&mut canvas, table, std::slice::from_ref(&energy), &power);
    panel.lines(&mut canvas, table, &masses, &mass);
    panel.legend(&mut canvas, masses.iter().chain([&energy]));
    canvas.label("time in seconds", [0.5 * (SIDE + RIGHT), height as f32 - 20.0], LETTERS, Align::Middle, TEXT);
    if table.times.is_empty() {
        canvas.label("no frames yet", [0.5 * (SIDE + RIGHT), tops[0] + 170.0], LETTERS, Align::Middle, TEXT);
    }
    canvas
}

/// Entries of a legend beside each other.
const LEGEND_COLUMNS: usize = 3;

fn shortened(name: &str) -> String {
    if name.chars().count() <= 14 { name.to_owned() } else { name.chars().take(13).chain(['…']).collect() }
}

/// From values to pixels.
struct Axis {
    /// From 0 or less to more than any value, in whole steps.
    range: [f64; 2],
    step: f64,
    from: f32,
    to: f32,
}

impl Axis {
    /// Holds all values that are finite, and 0.
    fn new<'a>(columns: impl IntoIterator<Item = &'a [f64]>, from: f32, to: f32) -> Self {
        let (mut low, mut high) = (0.0_f64, 0.0_f64);
        // Beyond this, differences of pixels mean nothing.
        for value in columns.into_iter().flatten().filter(|v| v.abs() < 1e30) {
            (low, high) = (low.min(*value), high.max(*value));
        }
        if high - low < 1e-30 {
            high = low + 1.0;
        }
        // The smallest of 1, 2, 5 times a power of ten that makes at most six steps.
        let power = 10_f64.powf(((high - low) / 6.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter().find(|s| (high - low) / s <= 6.0);
        let step = step.unwrap_or(10.0 * power);
        Axis { range: [(low / step).floor() * step, (high / step).ceil() * step], step, from, to }
    }

    fn at(&self, value: f64) -> f32 {
        let part = (value - self.range[0]) / (self.range[1] - self.range[0]);
        self.from + (self.to - self.from) * part as f32
    }

    /// Values of ticks and what is written there.
    fn ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        let count = ((self.range[1] - self.range[0]) / self.step).round() as u32;
        let digits = (-self.step.log10().floor()).max(0.0) as usize;
        (0..=count).map(move |k| {
            let value = self.range[0] + f64::from(k) * self.step;
            let plain = (1e-3..1e5).contains(&self.range[1].abs().max(self.range[0].abs()));
            // Rounding may leave a trace of a step where zero is meant.
            let value = if value.abs() < 0.01 * self.step { 0.0 } else { value };
            let label = match value {
                0.0 if !plain => "0".to_owned(),
                _ if plain => format!("{value:.digits$}"),
                _ => format!("{value:.1e}"),
            };
            (value, label)
        })
    }
}

/// A rectangle over the width of the chart.
struct Panel<'a> {
    top: f32,
    height: f32,
    time: &'a Axis,
}

impl Panel<'_> {
    fn bottom(&self) -> f32 {
        self.top + self.height
    }

    /// The frame, rules and numbers for values at the left (numbers end there: right aligned) or at the right.
    fn frame<'a>(&self, canvas: &mut Canvas, columns: impl IntoIterator<Item = &'a [f64]>, align: Align) -> Axis {
        let axis = Axis::new(columns, self.bottom(), self.top + HEADROOM);
        let left = align == Align::Right;
        for (value, label) in axis.ticks() {
            let y = axis.at(value);
            if left {
                canvas.rule([SIDE, y], [RIGHT, y], RULE);
            }
            canvas.label(&label, [if left { SIDE - 10.0 } else { RIGHT + 10.0 }, y], LETTERS, align, TEXT);
        }
        for (value, label) in self.time.ticks().filter(|_| left) {
            let x = self.time.at(value);
            canvas.rule([x, self.bottom()], [x, self.bottom() + 5.0], FRAME);
            canvas.label(&label, [x, self.bottom() + 20.0], LETTERS, Align::Middle, TEXT);
        }
        let corners = [[SIDE, self.top], [RIGHT, self.top], [RIGHT, self.bottom()], [SIDE, self.bottom()]];
        for k in 0..4 {
            canvas.rule(corners[k], corners[(k + 1) % 4], FRAME);
        }
        axis
    }

    /// A vertical line wherever a smoke gets another target.
    fn changes(&self, canvas: &mut Canvas, table: &TargetTable) {
        for time in table.changes() {
            let x = self.time.at(time);
            canvas.rule([x, self.top], [x, self.bottom()], CHANGE);
        }
    }

    fn lines(&self, canvas: &mut Canvas, table: &TargetTable, lines: &[Line<'_>], axis: &Axis) {
        let known = |t: f64, v: f64| t.abs() < 1e30 && v.abs() < 1e30;
        for line in lines {
            let rows: Vec<(f64, f64)> = table.times.iter().copied().zip(line.values.iter().copied()).collect();
            // What is not known leaves a gap.
            for piece in rows.split(|&(t, v)| !known(t, v)) {
                let points: Vec<[f32; 2]> = piece.iter().map(|&(t, v)| [self.time.at(t), axis.at(v)]).collect();
                // A single value could not be seen as a line.
                let width = if points.len() == 1 { 6.0 } else { line.width };
                canvas.line(&points, width, line.color);
            }
        }
    }

    /// Above the panel.
    fn legend<'a>(&self, canvas: &mut Canvas, lines: impl Iterator<Item = &'a Line<'a>>) {
        let lines: Vec<&Line<'_>> = lines.collect();
        let first = self.top - lines.len().div_ceil(LEGEND_COLUMNS) as f32 * LEGEND_ROW + 8.0;
        let column = (RIGHT - SIDE) / LEGEND_COLUMNS as f32;
        for (k, line) in lines.into_iter().enumerate() {
            let x = SIDE + column * (k % LEGEND_COLUMNS) as f32;
            let y = first + LEGEND_ROW * (k / LEGEND_COLUMNS) as f32;
            canvas.line(&[[x, y], [x + 22.0, y]], line.width + 1.0, line.color);
            canvas.label(&line.label, [x + 30.0, y], LETTERS - 1.0, Align::Left, TEXT);
        }
    }
}
