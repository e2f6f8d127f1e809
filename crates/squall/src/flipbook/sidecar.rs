//! The file that says how to read the textures.

use serde_json::{Map as Object, Value, json};

use super::maps::Map;
use super::{Layout, Selection};
use crate::setup::{Alpha, Setup};

/// Everything that a program needs to play the flipbook.
pub(super) fn describe(setup: &Setup, name: &str, layout: &Layout, selection: &Selection, maps: &[Map]) -> Value {
    let [width, height] = layout.frame;
    let fps = setup.time.fps / f64::from(selection.every);
    let frames: Vec<Value> = (0..)
        .zip(selection.frames())
        .map(|(i, number)| {
            let [x, y] = layout.place(i);
            json!({ "x": x, "y": y, "width": width, "height": height, "source_frame": number })
        })
        .collect();
    let aspect = match &setup.film {
        // A camera takes pictures in the shape of a frame.
        Some(_) => f64::from(setup.output.width) / f64::from(setup.output.height),
        None => setup.grid.size[0] / setup.grid.size[1],
    };
    let textures: Object<String, Value> =
        maps.iter().map(|map| (map.name.to_owned(), texture(setup, name, map))).collect();
    json!({
        "squall": env!("CARGO_PKG_VERSION"),
        "name": name,
        "fps": fps,
        "duration": f64::from(selection.count) / fps,
        "loop": setup.flipbook.looped,
        "count": selection.count,
        "layout": {
            "columns": layout.columns,
            "rows": layout.rows,
            "order": "row by row from the upper left",
            "texture": layout.size(),
            "cell": layout.cell(),
            "frame": layout.frame,
            "padding": layout.padding,
            "wraps": layout.wraps,
            "safe_mip_levels": layout.safe_mips(),
            "power_of_two": layout.size().iter().all(|n| n.is_power_of_two()),
        },
        "aspect": aspect,
        "alpha": setup.flipbook.alpha.word(),
        "textures": textures,
        "frames": frames,
    })
}

fn texture(setup: &Setup, name: &str, map: &Map) -> Value {
    let file = format!("{name}_{}.png", map.name);
    let color_space = if map.srgb { "srgb" } else { "linear" };
    let mut out = json!({ "file": file, "color_space": color_space, "bits": map.bits, "channels": map.channels });
    let green = setup.flipbook.green.word();
    let lit = match setup.flipbook.alpha {
        Alpha::Premultiplied => "light = value * scale, premultiplied by opacity",
        _ => "light = value * scale, straight",
    };
    let more = match map.name {
        "color" => json!({ "encoding": "sRGB", "alpha": setup.flipbook.alpha.word() }),
        "motion" => json!({
            "encoding": "0.5 + 0.5 * v / max", "max": map.scale, "unit": "cells of the texture grid per frame of the flipbook",
            "red": "right", "green": green,
        }),
        "normal" => {
            json!({ "encoding": "0.5 + 0.5 * n", "red": "right", "green": green, "blue": "towards the viewer" })
        }
        "depth" => {
            json!({ "encoding": "near + value * (far - near)", "near": map.zero, "far": map.scale, "unit": "m" })
        }
        "temperature" => json!({ "encoding": "low + value * (high - low)", "low": map.zero, "high": map.scale }),
        "sixway_positive" => json!({
            "encoding": lit, "scale": map.scale, "red": "right", "green": "top", "blue": "back", "alpha": "opacity",
        }),
        "sixway_negative" => json!({
            "encoding": lit, "scale": map.scale, "red": "left", "green": "bottom", "blue": "front",
            "alpha": "glow = value * glow_scale", "glow_scale": map.zero,
        }),
        _ => json!({}),
    };
    if let (Some(out), Value::Object(more)) = (out.as_object_mut(), more) {
        out.extend(more);
    }
    out
}
