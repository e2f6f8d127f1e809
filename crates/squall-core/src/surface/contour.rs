//! Triangles where a field of distances is zero: marching cubes (Lorensen & Cline 1987) with a table that is computed.
//!
//! A cube lies between eight centres of cells. On each of its faces lines part the corners inside from those outside; where both diagonals
//! differ, corners inside are parted from each other. That depends on the face alone, so cubes on both sides of it agree, and
//! the surface is closed. The lines of a cube join to loops, which are filled with triangles none of whose own edges lies in a face: an edge
//! has exactly two triangles.

use super::SurfaceMesh;
use super::distance::Places;
use crate::threads::prelude::*;
use crate::volume::{BLOCK, Volume};
use std::sync::LazyLock;

/// Vertices stay this far from corners, as a part of an edge: no triangle is without area.
const LEAST: f32 = 0.02;

/// A window of a block: one cell below it, two above.
const WIDE: usize = BLOCK + 3;

/// Twelve edges: those along x, y and z, four each, numbered by the corner where they begin.
fn edge(axis: usize, corner: usize) -> usize {
    let [b, c] = [(axis + 1) % 3, (axis + 2) % 3];
    4 * axis + (corner >> b & 1) + 2 * (corner >> c & 1)
}

/// The corner where an edge begins: bit `a` says whether it is the upper one along axis `a`.
fn begin_of(edge: usize) -> usize {
    let (axis, rest) = (edge / 4, edge % 4);
    (rest & 1) << ((axis + 1) % 3) | (rest >> 1) << ((axis + 2) % 3)
}

/// Whether both edges lie in a face of the cube.
fn share_a_face(e: usize, f: usize) -> bool {
    let ends = |e: usize| [begin_of(e), begin_of(e) | 1 << (e / 4)];
    let all = [ends(e), ends(f)].concat();
    (0..3).any(|a| (0..2).any(|side| all.iter().all(|corner| corner >> a & 1 == side)))
}

/// Triangles, as edges, for each set of corners inside.
static TABLE: LazyLock<Vec<Vec<[u8; 3]>>> = LazyLock::new(|| (0..256).map(triangles_of).collect());

fn triangles_of(inside: usize) -> Vec<[u8; 3]> {
    let is_inside = |corner: usize| inside >> corner & 1 == 1;
    // The line of a face goes from one edge to the next, with the inside on its right as seen from outside of the cube.
    let mut next = [None; 12];
    for a in 0..3 {
        for side in 0..2 {
            let (b, c) = ((a + 1) % 3, (a + 2) % 3);
            let turn = if side == 1 { [0b00, 0b01, 0b11, 0b10] } else { [0b00, 0b10, 0b11, 0b01] };
            let corners = turn.map(|t: usize| side << a | (t & 1) << b | (t >> 1) << c);
            let between = |i: usize| {
                let (p, q) = (corners[i % 4], corners[(i + 1) % 4]);
                edge((p ^ q).trailing_zeros() as usize, p & q)
            };
            for i in 0..4 {
                // A run of corners inside begins behind edge i.
                if !is_inside(corners[i]) && is_inside(corners[(i + 1) % 4]) {
                    let end = (i + 1..i + 5).find(|&j| !is_inside(corners[(j + 1) % 4])).unwrap_or(i);
                    next[between(i)] = Some(between(end));
                }
            }
        }
    }
    let mut triangles = Vec::new();
    let mut done = [false; 12];
    for start in 0..12 {
        let mut ring = Vec::new();
        let mut at = start;
        while let (false, Some(to)) = (done[at], next[at]) {
            done[at] = true;
            ring.push(at);
            at = to;
        }
        if ring.len() >= 3 {
            let filled = fill(&ring).unwrap_or_default();
            triangles.extend(filled.into_iter().map(|t| t.map(|e| e as u8)));
        }
    }
    triangles
}

/// Fills a loop with triangles whose edges are its own, or lie in no face.
fn fill(ring: &[usize]) -> Option<Vec<[usize; 3]>> {
    let n = ring.len();
    if n < 3 {
        return Some(Vec::new());
    }
    // The triangle at the line from the last to the first.
    for i in 1..n - 1 {
        let is_free = |j: usize, k: usize| k == j + 1 || (j == 0 && k == n - 1) || !share_a_face(ring[j], ring[k]);
        if !is_free(0, i) || !is_free(i, n - 1) {
            continue;
        }
        if let (Some(mut left), Some(right)) = (fill(&ring[..=i]), fill(&ring[i..])) {
            left.push([ring[0], ring[i], ring[n - 1]]);
            left.extend(right);
            return Some(left);
        }
    }
    None
}

/// What a block contributes.
#[derive(Default)]
struct Piece {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    /// For each edge that begins in the block, the number of its vertex among these.
    numbers: Vec<u16>,
}

/// The closed surface where `distance` is zero; the inside is where it is negative. Vertices come block by block, in a fixed order.
pub fn contour(distance: &Volume) -> SurfaceMesh {
    let places = Places::new(distance);
    let mut pieces: Vec<Piece> = Vec::new();
    pieces.resize_with(distance.blocks.len(), Piece::default);
    pieces
        .par_iter_mut()
        .enumerate()
        .for_each_init(Vec::new, |window, (b, piece)| find_vertices(distance, &places, b, window, piece));
    let mut first = Vec::with_capacity(pieces.len());
    let mut count = 0u32;
    for piece in &pieces {
        first.push(count);
        count += piece.positions.len() as u32;
    }
    // Triangles look at the vertices of the blocks above, too.
    let mut triangles: Vec<Vec<[u32; 3]>> = vec![Vec::new(); pieces.len()];
    triangles.par_iter_mut().enumerate().for_each_init(Vec::new, |window, (b, out)| {
        find_triangles(distance, &places, b, &pieces, &first, window, out);
    });
    let mut mesh = SurfaceMesh::default();
    for (piece, triangles) in pieces.iter().zip(&triangles) {
        mesh.positions.extend(&piece.positions);
        mesh.normals.extend(&piece.normals);
        mesh.triangles.extend(triangles);
    }
    mesh
}

/// Where in a window a cell of the block lies.
fn at([x, y, z]: [usize; 3]) -> usize {
    x + 1 + WIDE * (y + 1 + WIDE * (z + 1))
}

const STRIDES: [usize; 3] = [1, WIDE, WIDE * WIDE];

/// Whether the cells of a block, and those that cubes beginning in it reach, lie on both sides.
fn has_surface(window: &[f32]) -> bool {
    let (mut inside, mut outside) = (false, false);
    for z in 0..=BLOCK {
        for y in 0..=BLOCK {
            for v in &window[at([0, y, z])..=at([BLOCK, y, z])] {
                inside |= *v < 0.0;
                outside |= *v >= 0.0;
            }
        }
    }
    inside && outside
}

fn find_vertices(distance: &Volume, places: &Places<3>, b: usize, window: &mut Vec<f32>, piece: &mut Piece) {
    let block = distance.blocks[b];
    places.window(distance, b, 1, 2, window);
    if !has_surface(window) {
        return;
    }
    piece.numbers = vec![u16::MAX; 3 * BLOCK.pow(3)];
    let slope = |i: usize| STRIDES.map(|s| window[i + s] - window[i - s]);
    for i in 0..BLOCK.pow(3) {
        let cell = [i % BLOCK, i / BLOCK % BLOCK, i / BLOCK / BLOCK];
        let from = at(cell);
        for axis in 0..3 {
            let to = from + STRIDES[axis];
            let (low, high) = (window[from], window[to]);
            if (low < 0.0) == (high < 0.0) {
                continue;
            }
            let t = (low / (low - high)).clamp(LEAST, 1.0 - LEAST);
            piece.numbers[3 * i + axis] = piece.positions.len() as u16;
            piece.positions.push(std::array::from_fn(|a| {
                let cells = f64::from(block[a]) * BLOCK as f64 + cell[a] as f64 + 0.5;
                let along = if a == axis { f64::from(t) } else { 0.0 };
                (distance.origin[a] + (cells + along) * distance.spacing) as f32
            }));
            let (near, far) = (slope(from), slope(to));
            let normal: [f32; 3] = std::array::from_fn(|a| near[a] + t * (far[a] - near[a]));
            let length = normal.iter().map(|v| v * v).sum::<f32>().sqrt();
            let along = std::array::from_fn(|a| if a == axis { (high - low).signum() } else { 0.0 });
            piece.normals.push(if length > 0.0 { normal.map(|v| v / length) } else { along });
        }
    }
}

fn find_triangles(
    distance: &Volume,
    places: &Places<3>,
    b: usize,
    pieces: &[Piece],
    first: &[u32],
    window: &mut Vec<f32>,
    out: &mut Vec<[u32; 3]>,
) {
    let block = distance.blocks[b];
    // Blocks above along each axis: the vertices of cubes that begin here may belong to them.
    let above: [Option<usize>; 8] =
        std::array::from_fn(|n| places.slot(std::array::from_fn(|a| block[a] + (n >> a & 1) as i32)));
    if above.iter().flatten().all(|&slot| pieces[slot].numbers.is_empty()) {
        return;
    }
    places.window(distance, b, 1, 2, window);
    for i in 0..BLOCK.pow(3) {
        let cell = [i % BLOCK, i / BLOCK % BLOCK, i / BLOCK / BLOCK];
        let from = at(cell);
        let corner = |n: usize| from + (0..3).map(|a| (n >> a & 1) * STRIDES[a]).sum::<usize>();
        let inside = (0..8).fold(0, |set, n| set | usize::from(window[corner(n)] < 0.0) << n);
        for triangle in &TABLE[inside] {
            out.push(triangle.map(|e| {
                let (axis, begin) = (e as usize / 4, begin_of(e as usize));
                let place: [usize; 3] = std::array::from_fn(|a| cell[a] + (begin >> a & 1));
                let which = (0..3).fold(0, |n, a| n | (place[a] / BLOCK) << a);
                let local = place.map(|i| i % BLOCK);
                let slot = above[which].expect("a block beside the surface is stored");
                let number = pieces[slot].numbers[3 * (local[0] + BLOCK * (local[1] + BLOCK * local[2])) + axis];
                first[slot] + u32::from(number)
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_of_corners_is_parted_by_triangles_whose_inner_edges_lie_in_no_face() {
        for inside in 0..256 {
            let triangles = triangles_of(inside);
            let is_inside = |corner: usize| inside >> corner & 1 == 1;
            let crossed: Vec<usize> =
                (0..12).filter(|&e| is_inside(begin_of(e)) != is_inside(begin_of(e) | 1 << (e / 4))).collect();
            let mut used: Vec<usize> = triangles.iter().flatten().map(|&e| e as usize).collect();
            used.sort_unstable();
            used.dedup();
            assert_eq!(used, crossed, "{inside:08b}: a vertex on every edge that the surface crosses, and on no other");
            // Every edge of a triangle is shared with one other of the cube, or lies in a face.
            for t in &triangles {
                for k in 0..3 {
                    let (p, q) = (t[k], t[(k + 1) % 3]);
                    let back = triangles.iter().filter(|o| (0..3).any(|k| (o[k], o[(k + 1) % 3]) == (q, p))).count();
                    let inner = !share_a_face(p as usize, q as usize);
                    assert_eq!(back, usize::from(inner), "{inside:08b}: {p} to {q}");
                }
            }
        }
    }

    #[test]
    fn triangles_are_seen_counter_clockwise_from_outside() {
        // The corner at the origin alone is inside.
        let middle = |e: u8| {
            let begin = begin_of(e as usize);
            let mut x: [f64; 3] = std::array::from_fn(|a| (begin >> a & 1) as f64);
            x[e as usize / 4] += 0.5;
            x
        };
        let [p, q, r] = triangles_of(1)[0].map(middle);
        let (u, v): ([f64; 3], [f64; 3]) = (std::array::from_fn(|a| q[a] - p[a]), std::array::from_fn(|a| r[a] - p[a]));
        let normal = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
        assert!(normal.iter().all(|n| *n > 0.0), "{normal:?}");
    }
}
