//! Work on many items, on as many threads as there are processors.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::output::Progress;

/// Applies `work` to each item and returns the results in order, with a progress bar called `label`.
pub(crate) fn map<T: Sync, R: Send>(
    label: &'static str,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let progress = Progress::new(label);
    let results: Mutex<BTreeMap<usize, R>> = Mutex::default();
    let worker = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(number) else {
                return;
            };
            let result = work(item);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.insert(number, result);
            progress.at(results.len() as u64, items.len() as u64);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(items.len()) {
            scope.spawn(worker);
        }
    });
    let results = results.into_inner();
    let results = results.unwrap_or_else(PoisonError::into_inner);
    results.into_values().collect()
}
