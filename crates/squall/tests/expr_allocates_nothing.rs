//! Evaluation happens in every cell of every step: it must not touch the heap. In a file of its own, as it has an allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use squall::expr::{Expr, Input};

struct Counting;

thread_local! {
    /// Of this thread: the one that runs the tests allocates when it likes.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: hands everything to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn evaluation_allocates_nothing() {
    let names = ["x", "y", "t", "density"].map(str::to_owned);
    let e = Expr::parse("sin(tau*x)*exp(-y^2) + clamp(density, 0, 1)*(t < 2) - (x*y + t)*(x - y)", &names).unwrap();
    let (x, density, mut out) = (vec![0.5; 1000], vec![0.1; 1000], vec![0.0; 1000]);
    let values = |name: &String| match name.as_str() {
        "x" => Input::Row(&x),
        "density" => Input::Row(&density),
        _ => Input::Uniform(0.25),
    };
    let inputs: Vec<Input<'_>> = e.variables().iter().map(values).collect();
    let before = ALLOCATIONS.get();
    for _ in 0..10 {
        e.eval_row(&inputs, &mut out);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(out.iter().all(|v| v.is_finite()));
}
