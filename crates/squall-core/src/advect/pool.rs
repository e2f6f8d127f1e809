//! A pool of objects that are expensive to make.

use std::ops::{Deref, DerefMut};
use std::sync::Mutex;

#[derive(Debug)]
pub(super) struct Pool<T>(Mutex<Vec<T>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Pool(Mutex::new(Vec::new()))
    }
}

impl<T> Pool<T> {
    pub fn take(&self, new: impl Fn() -> T) -> Lent<'_, T> {
        let kept = self.0.lock().expect("nothing panics while it holds the lock").pop();
        Lent { thing: Some(kept.unwrap_or_else(new)), pool: self }
    }
}

pub(super) struct Lent<'a, T> {
    thing: Option<T>,
    pool: &'a Pool<T>,
}

impl<T> Deref for Lent<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.thing.as_ref().expect("there until dropped")
    }
}

impl<T> DerefMut for Lent<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.thing.as_mut().expect("there until dropped")
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        if let (Some(thing), Ok(mut pool)) = (self.thing.take(), self.pool.0.lock()) {
            pool.push(thing);
        }
    }
}
