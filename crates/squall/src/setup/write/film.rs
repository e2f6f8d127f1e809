//! Smoke, camera, lights and looks as TOML.

use std::fmt::{self, Write};

use super::{color, color_map, list};
use crate::setup::{CameraKey, Film, Glow, Ground, LightSource, Setup, Smoke};

pub(super) fn write_smoke(out: &mut String, s: &Smoke) -> fmt::Result {
    writeln!(out, "\n[smoke]\nrise = {:?}\nfall = {:?}\nfade = {:?}", s.rise, s.fall, s.fade)?;
    writeln!(out, "fade_law = \"{}\"\ncooling = {:?}", s.fade_law.word(), s.cooling)?;
    writeln!(out, "radiation = {:?}\nconfinement = {:?}", s.radiation, s.confinement)?;
    writeln!(out, "wind = {}\nbuffer = {}", list(&s.wind), s.buffer)
}

impl Setup {
    pub(super) fn write_film(&self, out: &mut String, film: &Film) -> fmt::Result {
        let camera = &film.camera;
        writeln!(out, "\n[camera]\northographic = {}\nmargin = {:?}", camera.orthographic, camera.margin)?;
        match (camera.turntable, camera.keys.as_slice()) {
            (None, keys) if keys.len() > 1 || keys.iter().any(|k| k.time != 0.0) => {
                let keys = keys.iter().map(|k| format!("{{ time = {:?}, {} }}", k.time, camera_key(k).join(", ")));
                writeln!(out, "orbit = [{}]", keys.collect::<Vec<_>>().join(", "))?;
            }
            (turntable, keys) => {
                for key in keys {
                    writeln!(out, "{}", camera_key(key).join("\n"))?;
                }
                if let Some(seconds) = turntable {
                    writeln!(out, "turntable = {seconds:?}")?;
                }
            }
        }
        if film.lights.is_empty() {
            writeln!(out, "# no lights")?;
        }
        for light in &film.lights {
            let place = match light.source {
                LightSource::Sun(towards) => format!("sun = {}", list(&towards)),
                LightSource::Point(at) => format!("point = {}", list(&at)),
            };
            writeln!(out, "\n[[light]]\n{place}\ncolor = {}", color(light.color))?;
            writeln!(out, "strength = {:?}\nsize = {:?}", light.strength, light.size)?;
        }
        let r = &film.render;
        writeln!(out, "\n[render]\nquality = \"{}\"\nsamples = {}", r.quality.word(), r.samples)?;
        writeln!(out, "thickness = {:?}\ncolor = {}", r.thickness, color(r.color))?;
        if let Some(glow) = &r.glow {
            writeln!(out, "glow = {{ {} }}", self.glow(glow))?;
        }
        writeln!(out, "anisotropy = {:?}\nsoftness = {:?}", r.anisotropy, r.softness)?;
        let (sky, below) = (color(r.sky), color(r.below));
        writeln!(out, "ambient = {{ sky = {sky}, below = {below}, occlusion = {:?} }}", r.occlusion)?;
        if let Some(g) = &r.ground {
            writeln!(out, "ground = {{ {} }}", ground(g))?;
        }
        writeln!(out, "transparent = {}", r.transparent)
    }

    fn glow(&self, glow: &Glow) -> String {
        let colors = glow.colors.as_ref().map_or("\"blackbody\"".to_owned(), color_map);
        format!(
            "substance = \"{}\", range = {}, strength = {:?}, colors = {colors}, kelvin = {}",
            self.substances[glow.substance].name,
            list(&glow.range),
            glow.strength,
            list(&glow.kelvin)
        )
    }
}

fn camera_key(k: &CameraKey) -> Vec<String> {
    let mut parts = vec![format!("yaw = {:?}", k.yaw), format!("pitch = {:?}", k.pitch)];
    parts.extend(k.distance.map(|d| format!("distance = {d:?}")));
    parts.extend([
        format!("target = {}", list(&k.target)),
        format!("fov = {:?}", k.fov),
        format!("roll = {:?}", k.roll),
    ]);
    parts
}

fn ground(g: &Ground) -> String {
    let fade = g.fade.map_or(String::new(), |fade| format!(", fade = {}", list(&fade)));
    format!(
        "height = {:?}, color = {}, roughness = {:?}{fade}, only_shadow = {}",
        g.height,
        color(g.color),
        g.roughness,
        g.only_shadow
    )
}
