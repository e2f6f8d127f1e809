//! Light at the surface of a clear liquid, and within it.

use super::vector::{Vec3, dot, scale, sub, unit};

/// How many times slower light is in glass than in air.
pub(super) const GLASS: f64 = 1.5;

/// The part of the light that a clear surface mirrors (Fresnel's law, the mean of both polarisations): `cos` of the
/// angle to the normal, `eta` how many times slower light is behind the surface than before it.
pub(super) fn fresnel(cos: f64, eta: f64) -> f64 {
    let cos = cos.clamp(0.0, 1.0);
    let behind = 1.0 - (1.0 - cos * cos) / (eta * eta);
    if behind <= 0.0 {
        return 1.0;
    }
    let behind = behind.sqrt();
    let across = (cos - eta * behind) / (cos + eta * behind);
    let within = (eta * cos - behind) / (eta * cos + behind);
    (0.5 * (across * across + within * within)).min(1.0)
}

/// The mirrored direction; `normal` points against the ray.
pub(super) fn mirror(direction: Vec3, normal: Vec3) -> Vec3 {
    let out = sub(direction, scale(normal, 2.0 * dot(direction, normal)));
    unit(out).unwrap_or(normal)
}

/// The direction behind the surface (Snell's law); `None` where all light is mirrored.
pub(super) fn bend(direction: Vec3, normal: Vec3, eta: f64) -> Option<Vec3> {
    let cos = -dot(direction, normal);
    let behind = 1.0 - (1.0 - cos * cos) / (eta * eta);
    if behind <= 0.0 {
        return None;
    }
    let along = cos / eta - behind.sqrt();
    unit(std::array::from_fn(|a| direction[a] / eta + along * normal[a]))
}

/// The same normal, turned so that it points against the ray.
pub(super) fn against(normal: Vec3, direction: Vec3) -> Vec3 {
    let cos = dot(normal, direction);
    let normal = if cos > 0.0 { scale(normal, -1.0) } else { normal };
    let lacks = 0.02 - cos.abs();
    if lacks <= 0.0 {
        return normal;
    }
    // A ray along the surface still sees a little of it.
    unit(sub(normal, scale(direction, lacks))).unwrap_or(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn water_mirrors_two_percent_straight_on_and_everything_at_a_grazing_angle() {
        assert!((fresnel(1.0, 1.333) - 0.0204).abs() < 1e-4);
        assert!((fresnel(1.0, 1.0 / 1.333) - 0.0204).abs() < 1e-4, "and so it does from inside");
        assert!(fresnel(0.0, 1.333) > 0.9999);
        assert!(fresnel(0.3, 1.0) < 1e-12, "what is not slower mirrors nothing");
        // By the formula for 60 degrees: 4.2 % along and 0.0 across at Brewster's angle of 53 degrees, 6 % at 60.
        assert!((fresnel(0.5, 1.333) - 0.0596).abs() < 5e-4, "{}", fresnel(0.5, 1.333));
    }

    #[test]
    fn from_below_the_critical_angle_on_all_light_stays_in_the_water() {
        let critical = (1.0f64 / 1.333).asin();
        for (angle, leaves) in [(critical - 0.01, true), (critical + 0.01, false), (1.5, false)] {
            let direction = [angle.sin(), angle.cos(), 0.0];
            let out = bend(direction, [0.0, -1.0, 0.0], 1.0 / 1.333);
            assert_eq!(out.is_some(), leaves, "{angle}");
            assert_eq!(fresnel(angle.cos(), 1.0 / 1.333) < 1.0, leaves);
        }
    }

    #[test]
    fn light_bends_by_the_law_of_sines_and_back_again() {
        for angle in [0.0f64, 0.3, 0.8, 1.4] {
            let direction = [angle.sin(), -angle.cos(), 0.0];
            let inside = bend(direction, [0.0, 1.0, 0.0], 1.333).unwrap();
            assert!((inside[0] * 1.333 - angle.sin()).abs() < 1e-12);
            let out = bend(inside, [0.0, 1.0, 0.0], 1.0 / 1.333).unwrap();
            assert!((0..3).all(|a| (out[a] - direction[a]).abs() < 1e-9));
        }
    }

    #[test]
    fn normals_are_turned_to_the_viewer_and_never_hidden() {
        let ray = [1.0, 0.0, 0.0];
        for normal in [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.01, 1.0, 0.0]] {
            assert!(dot(against(unit(normal).unwrap(), ray), ray) < -0.015, "{normal:?}");
        }
    }
}
