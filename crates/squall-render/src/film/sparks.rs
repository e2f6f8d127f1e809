//! Sparks: bright points that leave trails, drawn onto a finished picture.

use super::camera::Camera;
use super::frame::Frame;
use super::ramp::blackbody;
use super::vector::{length, scale, sub};
use crate::color::Rgb;
use crate::plane::RenderError;

/// A bright point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spark {
    /// Where it is, in metres.
    pub place: [f64; 3],
    /// How it moves, in metres per second.
    pub velocity: [f64; 3],
    /// From 0 (out) to 1 (as bright as it can be).
    pub heat: f32,
}

/// How sparks look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SparkStyle {
    /// Their diameter, in metres.
    pub size: f64,
    /// How long a trail is, in seconds: what the shutter is open for.
    pub trail: f64,
    /// The light of a spark of heat 1 that covers a pixel.
    pub strength: f32,
    /// Temperatures of a black body at heat 0 and 1, for the colours.
    pub kelvin: [f32; 2],
}

impl Default for SparkStyle {
    fn default() -> Self {
        Self { size: 0.006, trail: 1.0 / 48.0, strength: 12.0, kelvin: [900.0, 2000.0] }
    }
}

/// No spark is drawn wider than this, in pixels.
const WIDEST: f64 = 24.0;

/// Draws sparks onto a picture that `camera` took. What is behind surfaces, or behind smoke that hides half of it, is not seen. A spark
/// gives the same light however long its trail is.
pub fn draw_sparks(
    frame: &mut Frame,
    camera: &Camera,
    sparks: &[Spark],
    style: &SparkStyle,
) -> Result<(), RenderError> {
    let lens = camera.lens(frame.width, frame.height)?;
    for spark in sparks.iter().filter(|s| s.heat > 0.0 && s.place.iter().chain(&s.velocity).all(|v| v.is_finite())) {
        let distance = length(sub(spark.place, camera.position));
        let tail = sub(spark.place, scale(spark.velocity, style.trail));
        let (Some(head), Some(tail)) = (lens.project(spark.place), lens.project(tail)) else { continue };
        // One pixel wide at least, and then so much dimmer.
        let wide = style.size / lens.footprint(distance).max(1e-12);
        let (radius, faint) = (0.5 * wide.clamp(1.0, WIDEST), wide.min(1.0).powi(2));
        let trail = ((head[0] - tail[0]).powi(2) + (head[1] - tail[1]).powi(2)).sqrt();
        // The light of a disc, spread over the disc and its trail.
        let spread = 1.0 / (1.0 + trail / (0.5 * std::f64::consts::PI * radius));
        let bright = f64::from(style.strength) * faint * spread * f64::from(spark.heat).powi(2);
        let [cold, hot] = style.kelvin;
        let light = blackbody(f64::from(cold + spark.heat * (hot - cold))).map(|v| v * bright as f32);
        draw_line(frame, head, tail, radius, distance, light);
    }
    Ok(())
}

/// Adds light along a line of round ends, with soft sides.
fn draw_line(frame: &mut Frame, head: [f64; 2], tail: [f64; 2], radius: f64, distance: f64, light: Rgb) {
    let reach = radius + 1.0;
    let range = |a: usize, size: usize| {
        let low = (head[a].min(tail[a]) - reach).floor().max(0.0);
        let high = (head[a].max(tail[a]) + reach).ceil().min(size as f64);
        if low < high { low as usize..high as usize } else { 0..0 }
    };
    let way = [tail[0] - head[0], tail[1] - head[1]];
    let squared = (way[0] * way[0] + way[1] * way[1]).max(1e-12);
    for y in range(1, frame.height) {
        for x in range(0, frame.width) {
            let p = [x as f64 + 0.5 - head[0], y as f64 + 0.5 - head[1]];
            let t = ((p[0] * way[0] + p[1] * way[1]) / squared).clamp(0.0, 1.0);
            let off = ((p[0] - t * way[0]).powi(2) + (p[1] - t * way[1]).powi(2)).sqrt();
            let cover = (radius + 0.5 - off).clamp(0.0, 1.0);
            let at = x + frame.width * y;
            if cover > 0.0 && f64::from(frame.depth[at]) > distance {
                // The trail is fainter where the spark was earlier.
                let weight = (cover * (1.0 - 0.7 * t)) as f32;
                (0..3).for_each(|c| frame.rgba[at][c] += weight * light[c]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::camera::Projection;
    use super::*;

    fn black(width: usize, height: usize, depth: f32) -> Frame {
        let n = width * height;
        Frame { width, height, rgba: vec![[0.0, 0.0, 0.0, 1.0]; n], depth: vec![depth; n] }
    }

    fn light(frame: &Frame) -> f64 {
        frame.rgba.iter().map(|p| f64::from(p[0])).sum()
    }

    fn camera() -> Camera {
        Camera::orbiting([0.0; 3], 0.0, 0.0, 2.0, Projection::Perspective { fov: 40.0 })
    }

    #[test]
    fn a_spark_gives_as_much_light_with_a_trail_as_without() {
        let style = SparkStyle { size: 0.05, trail: 0.1, ..SparkStyle::default() };
        let shot = |speed: f64| {
            let mut frame = black(200, 150, f32::INFINITY);
            let spark = Spark { place: [0.0; 3], velocity: [speed, 0.0, 0.0], heat: 1.0 };
            draw_sparks(&mut frame, &camera(), &[spark], &style).unwrap();
            light(&frame)
        };
        let (still, fast) = (shot(0.0), shot(4.0));
        assert!(still > 1.0);
        // Ends and sides are as wide as pixels, and the trail fades: a factor of two at most.
        assert!((0.4..1.2).contains(&(fast / still)), "{still} and {fast}");
    }

    #[test]
    fn sparks_behind_something_out_of_sight_or_out_are_not_seen() {
        let spark = Spark { place: [0.0; 3], velocity: [0.0; 3], heat: 1.0 };
        let cases = [
            (black(80, 60, 1.0), spark),
            (black(80, 60, f32::INFINITY), Spark { place: [0.0, 0.0, 9.0], ..spark }),
            (black(80, 60, f32::INFINITY), Spark { place: [50.0, 0.0, 0.0], ..spark }),
            (black(80, 60, f32::INFINITY), Spark { heat: 0.0, ..spark }),
            (black(80, 60, f32::INFINITY), Spark { place: [f64::NAN; 3], ..spark }),
        ];
        for (mut frame, spark) in cases {
            draw_sparks(&mut frame, &camera(), &[spark], &SparkStyle::default()).unwrap();
            assert_eq!(light(&frame), 0.0, "{spark:?}");
        }
    }
}
