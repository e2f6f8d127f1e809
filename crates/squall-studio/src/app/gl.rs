//! The view in 3D, drawn by the graphics card: a ray through each pixel marches through the lattice of a [`Solid`].
//!
//! Pictures are drawn into a framebuffer of their own, and only if something has changed; what the window shows is a copy of that. While the camera moves they
//! have half of the pixels along each side.

#![allow(unsafe_code, reason = "every call of OpenGL is")]

use std::sync::Arc;

use eframe::egui_glow;
use eframe::glow::{self, HasContext};
use squall_render::film::{Camera, Projection};

use crate::volume::{RAMP, Solid};

const CORNERS: &str = "
out vec2 v_uv;
void main() {
    vec2 corner = vec2(float((gl_VertexID << 1) & 2), float(gl_VertexID & 2));
    v_uv = corner;
    gl_Position = vec4(2.0 * corner - 1.0, 0.0, 1.0);
}";

const COPY: &str = "
uniform sampler2D u_picture;
in vec2 v_uv;
out vec4 o_color;
void main() { o_color = texture(u_picture, v_uv); }";

const MARCH: &str = "
uniform sampler3D u_volume;
uniform vec3 u_low, u_high, u_eye, u_right, u_up, u_back;
uniform vec2 u_half;
uniform float u_perspective, u_kappa, u_liquid, u_ground, u_cell, u_exposure;
uniform vec3 u_smoke, u_object, u_water, u_to_light, u_light, u_ambient, u_top, u_bottom, u_ground_color;
uniform vec3 u_glow[8];
in vec2 v_uv;
out vec4 o_color;

const int STEPS = 128;

vec4 look(vec3 x) { return texture(u_volume, (x - u_low) / (u_high - u_low)); }

vec3 sky(vec3 way) { return mix(u_bottom, u_top, clamp(0.5 + 0.5 * way.y, 0.0, 1.0)); }

vec3 heat(float t) {
    float x = clamp(t, 0.0, 1.0) * 7.0;
    int i = int(min(x, 6.0));
    return mix(u_glow[i], u_glow[i + 1], x - float(i));
}

vec3 normal(vec3 x, int channel) {
    vec3 e = vec3(u_cell, 0.0, 0.0);
    vec3 g = vec3(look(x - e.xyy)[channel] - look(x + e.xyy)[channel],
                  look(x - e.yxy)[channel] - look(x + e.yxy)[channel],
                  look(x - e.yyx)[channel] - look(x + e.yyx)[channel]);
    return normalize(g + 1e-6);
}

// What is seen behind everything along a ray, from a distance on: sky, or ground in light and shadow.
vec3 beyond(vec3 o, vec3 way) {
    if (u_ground > -1e8 && way.y < -1e-4) {
        float t = (u_ground - o.y) / way.y;
        if (t > 0.0) {
            vec3 x = o + t * way;
            vec3 inside = (x - u_low) / (u_high - u_low);
            bool shaded = all(greaterThan(inside.xz, vec2(0.0))) && all(lessThan(inside.xz, vec2(1.0)));
            float lit = shaded ? look(vec3(x.x, max(x.y, u_low.y + 0.5 * u_cell), x.z)).g : 1.0;
            float fade = exp(-0.15 * length(x.xz - 0.5 * (u_low.xz + u_high.xz)) / length(u_high - u_low));
            return mix(sky(way), u_ground_color * (u_light * lit * max(u_to_light.y, 0.1) + u_ambient), fade);
        }
    }
    return sky(way);
}

vec3 shade(vec3 color, vec3 x, vec3 n, vec3 way, float lit) {
    float facing = max(dot(n, u_to_light), 0.0);
    vec3 middle = normalize(u_to_light - way);
    float shine = 0.25 * pow(max(dot(n, middle), 0.0), 40.0);
    return color * (u_light * facing * lit + u_ambient * (0.6 + 0.4 * n.y)) + u_light * shine * lit;
}

void main() {
    vec2 p = (2.0 * v_uv - 1.0) * u_half;
    vec3 across = p.x * u_right + p.y * u_up;
    vec3 o = u_perspective > 0.5 ? u_eye : u_eye + across;
    vec3 way = u_perspective > 0.5 ? normalize(across - u_back) : -u_back;
    vec3 inverse = 1.0 / (way + vec3(equal(way, vec3(0.0))) * 1e-7);
    vec3 a = (u_low - o) * inverse, b = (u_high - o) * inverse;
    vec3 first = min(a, b), last = max(a, b);
    float t = max(max(first.x, first.y), max(first.z, 0.0));
    float end = min(last.x, min(last.y, last.z));
    vec3 color = vec3(0.0);
    float through = 1.0;
    vec3 tint = vec3(1.0);
    bool wet = false;
    if (end > t) {
        float ds = max((end - t) / float(STEPS), 0.35 * u_cell);
        // Rays begin at different places, so that no rings are seen.
        t += ds * fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715))));
        for (int i = 0; i < STEPS && t < end; i++) {
            vec3 x = o + t * way;
            vec4 s = look(x);
            if (s.b > 0.5) {
                // Back to the surface.
                float before = t - ds;
                for (int k = 0; k < 5; k++) {
                    float m = 0.5 * (before + t);
                    if (look(o + m * way).b > 0.5) t = m; else before = m;
                }
                x = o + before * way;
                color += through * tint * shade(u_object, x, normal(x, 2), way, look(x).g);
                through = 0.0;
                break;
            }
            if (u_liquid > 0.5) {
                if ((s.a > 0.5) != wet) {
                    vec3 n = normal(x, 3);
                    if (!wet) {
                        float mirror = 0.03 + 0.97 * pow(1.0 - max(dot(n, -way), 0.0), 5.0);
                        color += through * tint * mirror * sky(reflect(way, n));
                        vec3 middle = normalize(u_to_light - way);
                        color += through * tint * u_light * s.g * 0.6 * pow(max(dot(n, middle), 0.0), 120.0);
                        through *= 1.0 - mirror;
                        way = normalize(mix(way, refract(way, n, 0.75), 0.5));
                    }
                    wet = !wet;
                }
                if (wet) tint *= exp(-ds / (0.25 * length(u_high - u_low)) * (1.02 - u_water) * 6.0);
            } else {
                float amount = s.r * s.r;
                float part = 1.0 - exp(-u_kappa * amount * ds);
                color += through * part * u_smoke * (u_light * s.g * 0.55 + u_ambient);
                color += through * heat(s.a) * ds;
                through *= 1.0 - part;
                if (through < 0.01) break;
            }
            t += ds;
        }
    }
    color += through * tint * beyond(o, way);
    // As film shows light: highlights are compressed.
    color *= u_exposure;
    color = color / (1.0 + 0.25 * color);
    o_color = vec4(pow(clamp(color, 0.0, 1.0), vec3(1.0 / 2.2)), 1.0);
}";

/// What a picture depends on besides the lattice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// From where it is seen.
    pub camera: Camera,
    /// Its size in pixels.
    pub size: [i32; 2],
    /// Whether it moves: half of the pixels along each side are enough.
    pub moving: bool,
}

/// What lives on the graphics card.
pub struct View {
    march: glow::Program,
    copy: glow::Program,
    corners: glow::VertexArray,
    volume: glow::Texture,
    picture: glow::Texture,
    frame: glow::Framebuffer,
    /// What was drawn last.
    drawn: Option<(Arc<Solid>, Wanted)>,
}

impl View {
    /// Compiles the shaders.
    pub fn new(gl: &glow::Context) -> Result<Self, String> {
        let header = match gl.version().is_embedded {
            true => "#version 300 es\nprecision highp float;\nprecision highp int;\nprecision highp sampler3D;\n",
            false => "#version 330 core\n",
        };
        let march = program(gl, header, MARCH)?;
        let copy = program(gl, header, COPY)?;
        // SAFETY: objects are made in the context that is current, and nothing is read from memory.
        unsafe {
            let corners = gl.create_vertex_array()?;
            let (volume, picture) = (gl.create_texture()?, gl.create_texture()?);
            let frame = gl.create_framebuffer()?;
            Ok(View { march, copy, corners, volume, picture, frame, drawn: None })
        }
    }

    /// Draws a moment into the part of the window that is given, in pixels: left, bottom, width, height.
    pub fn paint(&mut self, painter: &egui_glow::Painter, solid: &Arc<Solid>, wanted: &Wanted, into: [i32; 4]) {
        let gl = painter.gl();
        let (is_new, is_same) = match &self.drawn {
            Some((known, drawn)) => (!Arc::ptr_eq(known, solid), drawn == wanted),
            None => (true, false),
        };
        // SAFETY: sizes of textures are those of the arrays that they are filled from, and whatever was bound before is bound again.
        unsafe {
            gl.bind_vertex_array(Some(self.corners));
            gl.disable(glow::BLEND);
            gl.active_texture(glow::TEXTURE0);
            if is_new {
                self.upload(gl, solid);
            }
            if is_new || !is_same {
                self.draw(gl, solid, wanted);
                gl.bind_framebuffer(glow::FRAMEBUFFER, painter.intermediate_fbo());
                self.drawn = Some((solid.clone(), *wanted));
            }
            let [left, bottom, width, height] = into;
            gl.viewport(left, bottom, width, height);
            gl.enable(glow::SCISSOR_TEST);
            gl.use_program(Some(self.copy));
            gl.bind_texture(glow::TEXTURE_2D, Some(self.picture));
            gl.uniform_1_i32(gl.get_uniform_location(self.copy, "u_picture").as_ref(), 0);
            gl.draw_arrays(glow::TRIANGLES, 0, 3);
            gl.bind_texture(glow::TEXTURE_2D, None);
            gl.bind_vertex_array(None);
            gl.use_program(None);
            gl.enable(glow::BLEND);
        }
    }

    unsafe fn upload(&self, gl: &glow::Context, solid: &Solid) {
        let [x, y, z] = solid.cells.map(|n| n as i32);
        assert_eq!(solid.texels.len(), 4 * solid.cells.iter().product::<usize>(), "four bytes for each cell");
        // SAFETY: the caller's context is current, and there are as many bytes as the sizes say.
        unsafe {
            gl.bind_texture(glow::TEXTURE_3D, Some(self.volume));
            gl.pixel_store_i32(glow::UNPACK_ALIGNMENT, 1);
            let pixels = glow::PixelUnpackData::Slice(Some(&solid.texels));
            gl.tex_image_3d(
                glow::TEXTURE_3D,
                0,
                glow::RGBA8 as i32,
                x,
                y,
                z,
                0,
                glow::RGBA,
                glow::UNSIGNED_BYTE,
                pixels,
            );
            for (name, value) in [
                (glow::TEXTURE_MIN_FILTER, glow::LINEAR),
                (glow::TEXTURE_MAG_FILTER, glow::LINEAR),
                (glow::TEXTURE_WRAP_S, glow::CLAMP_TO_EDGE),
                (glow::TEXTURE_WRAP_T, glow::CLAMP_TO_EDGE),
                (glow::TEXTURE_WRAP_R, glow::CLAMP_TO_EDGE),
            ] {
                gl.tex_parameter_i32(glow::TEXTURE_3D, name, value as i32);
            }
        }
    }

    unsafe fn draw(&self, gl: &glow::Context, solid: &Solid, wanted: &Wanted) {
        let Some(([right, up, back], half)) = wanted.camera.axes() else { return };
        let [width, height] = wanted.size.map(|n| if wanted.moving { (n / 2).max(1) } else { n.max(1) });
        // SAFETY: the caller's context is current; the picture has no pixels of ours.
        unsafe {
            gl.bind_texture(glow::TEXTURE_2D, Some(self.picture));
            let none = glow::PixelUnpackData::Slice(None);
            gl.tex_image_2d(
                glow::TEXTURE_2D,
                0,
                glow::RGBA8 as i32,
                width,
                height,
                0,
                glow::RGBA,
                glow::UNSIGNED_BYTE,
                none,
            );
            for name in [glow::TEXTURE_MIN_FILTER, glow::TEXTURE_MAG_FILTER] {
                gl.tex_parameter_i32(glow::TEXTURE_2D, name, glow::LINEAR as i32);
            }
            gl.bind_framebuffer(glow::FRAMEBUFFER, Some(self.frame));
            let target = glow::COLOR_ATTACHMENT0;
            gl.framebuffer_texture_2d(glow::FRAMEBUFFER, target, glow::TEXTURE_2D, Some(self.picture), 0);
            gl.bind_texture(glow::TEXTURE_2D, None);
            gl.disable(glow::SCISSOR_TEST);
            gl.viewport(0, 0, width, height);
            gl.use_program(Some(self.march));
            gl.bind_texture(glow::TEXTURE_3D, Some(self.volume));
            let place = |name: &str| gl.get_uniform_location(self.march, name);
            let vector = |name: &str, v: [f32; 3]| gl.uniform_3_f32(place(name).as_ref(), v[0], v[1], v[2]);
            let number = |name: &str, v: f32| gl.uniform_1_f32(place(name).as_ref(), v);
            gl.uniform_1_i32(place("u_volume").as_ref(), 0);
            let aspect = width as f32 / height as f32;
            gl.uniform_2_f32(place("u_half").as_ref(), half as f32 * aspect, half as f32);
            for (name, v) in [("u_eye", wanted.camera.position), ("u_right", right), ("u_up", up), ("u_back", back)] {
                vector(name, v.map(|v| v as f32));
            }
            let (ground, ground_color) = solid.ground.unwrap_or((-1e9, [0.0; 3]));
            for (name, v) in [
                ("u_low", solid.low),
                ("u_high", solid.high),
                ("u_smoke", solid.smoke),
                ("u_object", solid.object),
                ("u_water", solid.water),
                ("u_to_light", solid.to_light),
                ("u_light", solid.light),
                ("u_ambient", solid.ambient),
                ("u_top", solid.background[0]),
                ("u_bottom", solid.background[1]),
                ("u_ground_color", ground_color),
            ] {
                vector(name, v);
            }
            let perspective = matches!(wanted.camera.projection, Projection::Perspective { .. });
            for (name, v) in [
                ("u_perspective", f32::from(u8::from(perspective))),
                ("u_kappa", solid.kappa),
                ("u_liquid", f32::from(u8::from(solid.is_liquid))),
                ("u_ground", ground),
                ("u_cell", (solid.high[0] - solid.low[0]) / solid.cells[0] as f32),
                ("u_exposure", solid.exposure),
            ] {
                number(name, v);
            }
            let glow: [f32; 3 * RAMP] = std::array::from_fn(|i| solid.glow[i / 3][i % 3]);
            gl.uniform_3_f32_slice(place("u_glow").as_ref(), &glow);
            gl.draw_arrays(glow::TRIANGLES, 0, 3);
            gl.bind_texture(glow::TEXTURE_3D, None);
        }
    }

    /// Gives everything back.
    pub fn destroy(&self, gl: &glow::Context) {
        // SAFETY: they were made in this context, and are not used any more.
        unsafe {
            gl.delete_program(self.march);
            gl.delete_program(self.copy);
            gl.delete_vertex_array(self.corners);
            gl.delete_texture(self.volume);
            gl.delete_texture(self.picture);
            gl.delete_framebuffer(self.frame);
        }
    }
}

fn program(gl: &glow::Context, header: &str, fragment: &str) -> Result<glow::Program, String> {
    // SAFETY: texts are passed with their lengths.
    unsafe {
        let program = gl.create_program()?;
        let mut shaders = Vec::new();
        for (kind, text) in [(glow::VERTEX_SHADER, CORNERS), (glow::FRAGMENT_SHADER, fragment)] {
            let shader = gl.create_shader(kind)?;
            gl.shader_source(shader, &format!("{header}{text}"));
            gl.compile_shader(shader);
            if !gl.get_shader_compile_status(shader) {
                return Err(format!("a shader: {}", gl.get_shader_info_log(shader)));
            }
            gl.attach_shader(program, shader);
            shaders.push(shader);
        }
        gl.link_program(program);
        if !gl.get_program_link_status(program) {
            return Err(format!("shaders: {}", gl.get_program_info_log(program)));
        }
        for shader in shaders {
            gl.detach_shader(program, shader);
            gl.delete_shader(shader);
        }
        Ok(program)
    }
}
