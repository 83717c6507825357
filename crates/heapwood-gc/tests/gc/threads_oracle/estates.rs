//! Clusters that come back: a thread registers the head of one, drops it, and whoever takes it off the queue goes on with it, having
//! compared all of it. Others only leave data, which comes when their head is dead. Invariants: what waits here is registered or on
//! the queue, and alive; nothing comes that was not dropped, and nothing twice.

use super::cluster::{Cluster, Outcome};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use heapwood_gc::{FinalizeOrder, Finalized, FinalizerQueue, FinalizerToken, Heap, Mutator, Refusal};
use heapwood_gc_testing::Rng;
use std::collections::HashMap;
use std::sync::Mutex;

struct Estate {
    cluster: Cluster,
    /// Data of its head, which does not come as long as that does.
    data: Option<(usize, FinalizerToken)>,
}

#[derive(Default)]
pub(super) struct Estates {
    waiting: Mutex<HashMap<usize, Estate>>,
    /// Data, and whether its object was dropped.
    data: Mutex<HashMap<usize, bool>>,
    tags: AtomicUsize,
    /// All that was registered was queued: data need not wait any more.
    all_queued: AtomicBool,
    /// Clusters that came back, and data that came.
    came: AtomicUsize,
    came_data: AtomicUsize,
}

/// What is registered of a cluster that is to be dropped.
pub(super) struct Will {
    tag: usize,
    data: Option<(usize, FinalizerToken)>,
}

impl Estates {
    fn tag(&self) -> usize {
        self.tags.fetch_add(1, Ordering::Relaxed)
    }

    /// Clusters and data that came.
    pub(super) fn came(&self) -> (usize, usize) {
        (self.came.load(Ordering::Relaxed), self.came_data.load(Ordering::Relaxed))
    }

    /// Registers data of an object, which is alive.
    pub(super) fn register_data(&self, m: &Mutator, head: usize) -> Result<(usize, FinalizerToken), String> {
        let (tag, head) = (self.tag(), NonNull::new(head as *mut u8).expect("an object"));
        self.data.lock().unwrap().insert(tag, false);
        let token = m.finalize_data(head, FinalizerQueue::default(), tag);
        token.map(|token| (tag, token)).map_err(|e| format!("data was refused: {e}"))
    }

    /// Its object is dropped from now on.
    pub(super) fn drop_data(&self, tag: usize) {
        self.data.lock().unwrap().insert(tag, true);
    }

    /// Registers the head of a cluster, which is alive; perhaps again, after it was taken back.
    pub(super) fn register(&self, m: &Mutator, cluster: &Cluster, rng: &mut Rng) -> Result<Will, String> {
        let head = cluster.head_addr();
        let (tag, object) = (self.tag(), NonNull::new(head as *mut u8).expect("an object"));
        let is_ordered = rng.one_in(2) && !cluster.leads_back();
        let order = if is_ordered { FinalizeOrder::Ordered } else { FinalizeOrder::AtOnce };
        let register = || {
            let token = m.finalize(object, FinalizerQueue::default(), order, tag);
            token.map_err(|e| format!("a finaliser was refused: {e}"))
        };
        let data = if rng.one_in(2) { Some(self.register_data(m, head)?) } else { None };
        let token = register()?;
        if rng.one_in(4) {
            match m.heap().cancel_finalizer(token) {
                Ok(back) if back == tag => register()?,
                other => return Err(format!("cancelling {tag} says {other:?}")),
            };
        }
        Ok(Will { tag, data })
    }

    /// The cluster waits from now on; its root is still there.
    pub(super) fn add(&self, will: Will, cluster: Cluster) {
        self.waiting.lock().unwrap().insert(will.tag, Estate { cluster, data: will.data });
    }

    /// Takes what has waited longest on the queue: a cluster without a root, or data, of which there is nothing to give.
    pub(super) fn take(&self, m: &Mutator) -> Result<Option<Cluster>, String> {
        let taken =
            m.next_finalized(FinalizerQueue::default()).map_err(|e| format!("taking was refused: {e}"))?;
        let Some(Finalized { object, tag }) = taken else { return Ok(None) };
        let Some(object) = object else { return self.take_data(tag).map(|()| None) };
        let estate = self.waiting.lock().unwrap().remove(&tag);
        let Some(Estate { cluster, data }) = estate else {
            return Err(format!("cluster {tag} came early, or twice"));
        };
        if cluster.head_addr() != object.as_ptr() as usize {
            return Err(format!("cluster {tag} came as {object:?}"));
        }
        if let Some((data, token)) = data {
            match m.heap().cancel_finalizer(token) {
                Ok(back) if back == data => _ = self.data.lock().unwrap().remove(&data),
                Err(Refusal::FinalizerQueued) if self.all_queued.load(Ordering::Relaxed) => {
                    self.drop_data(data)
                }
                other => return Err(format!("data {data} came before the object that came back: {other:?}")),
            }
        }
        self.came.fetch_add(1, Ordering::Relaxed);
        Ok(Some(cluster))
    }

    fn take_data(&self, tag: usize) -> Outcome {
        self.came_data.fetch_add(1, Ordering::Relaxed);
        match self.data.lock().unwrap().remove(&tag) {
            Some(true) => Ok(()),
            other => Err(format!("data {tag} came early, or twice: {other:?}")),
        }
    }

    /// Queues all that is registered, though stale words may keep it.
    pub(super) fn queue_all(&self, heap: &Heap) -> Outcome {
        self.all_queued.store(true, Ordering::Relaxed);
        heap.finalize_all().map(drop).map_err(|e| e.to_string())
    }

    /// Calls `f` with each cluster that waits.
    pub(super) fn each(&self, mut f: impl FnMut(&Cluster)) {
        self.waiting.lock().unwrap().values().for_each(|estate| f(&estate.cluster));
    }

    /// Whether anything waits, or is to come.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.lock().unwrap().is_empty() && self.data.lock().unwrap().is_empty()
    }

    /// After full collections, while nobody else runs: all that was dropped is on the queue, where only precise roots count.
    pub(super) fn check(&self, heap: &Heap, exact: bool) -> Outcome {
        let (registered, queued) = heap.finalizers();
        let waiting = self.waiting.lock().unwrap();
        let kept = waiting.values().filter(|estate| estate.data.is_some()).count();
        let data = self.data.lock().unwrap().len();
        if registered + queued != waiting.len() + data {
            return Err(format!(
                "{registered} are registered and {queued} queued, of {} clusters and {data} data",
                waiting.len()
            ));
        }
        // Data of a cluster that is to come back waits for that.
        match exact && registered != kept {
            true => Err(format!(
                "{registered} are registered of what is dead, and {kept} of what is to come back"
            )),
            false => Ok(()),
        }
    }
}
