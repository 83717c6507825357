//! The list of all symbols: the one source of what the library exports, of the state of each, and of the tables in
//! docs/guide/libgc.md. It has the 291 symbols of libgc 8.2.2 as Debian builds it, all that its programs can have imported.
//!
//! A state is `Complete` (it does what gc.h says), `Nearest` (the nearest safe thing, after a warning, once, with its name) or
//! `NoOp` (nothing is to be done here, and its text says why). Invariant: nothing else in this crate has a name of the linker's.

/// Passes the list to the macro `$to`: groups of functions, then variables.
macro_rules! symbol_list {
    ($to:ident) => {
        $to! {
functions {
"Allocation" {
    fn GC_malloc(n: usize) -> Ptr = alloc::malloc, Complete, "Thirteen instructions up to 64 bytes.";
    fn GC_malloc_atomic(n: usize) -> Ptr = alloc::malloc_atomic, Complete, "";
    fn GC_malloc_uncollectable(n: usize) -> Ptr = held::malloc_uncollectable, Complete, "";
    fn GC_malloc_atomic_uncollectable(n: usize) -> Ptr = held::malloc_atomic_uncollectable, Complete, "";
    fn GC_malloc_ignore_off_page(n: usize) -> Ptr = alloc::malloc, Complete, "Pointers anywhere into the object keep it, too.";
    fn GC_malloc_atomic_ignore_off_page(n: usize) -> Ptr = alloc::malloc_atomic, Complete, "As above.";
    fn GC_malloc_many(n: usize) -> Ptr = chains::malloc_many, Complete, "";
    fn GC_malloc_stubborn(n: usize) -> Ptr = alloc::malloc, NoOp, "Stubborn objects are ordinary ones.";
    fn GC_strdup(text: *const c_char) -> *mut c_char = strings::strdup, Complete, "";
    fn GC_strndup(text: *const c_char, most: usize) -> *mut c_char = strings::strndup, Complete, "";
    fn GC_memalign(align: usize, n: usize) -> Ptr = aligned::memalign, Complete, "";
    fn GC_posix_memalign(to: *mut Ptr, align: usize, n: usize) -> c_int = aligned::posix_memalign, Complete, "";
    fn GC_free(object: Ptr) = objects::free, Complete, "An object with a finalizer is left to the collector.";
    fn GC_realloc(object: Ptr, n: usize) -> Ptr = objects::realloc, Complete, "";
}
"Kinds, mark procedures, typed objects" {
    fn GC_new_free_list() -> *mut Ptr = kinds::new_free_list, Complete, "The list is a name only.";
    fn GC_new_free_list_inner() -> *mut Ptr = kinds::new_free_list, Complete, "";
    fn GC_new_kind(list: *mut Ptr, descriptor: usize, adds_size: c_int, clears: c_int) -> c_uint = kinds::new_kind, Complete, "";
    fn GC_new_kind_inner(list: *mut Ptr, descriptor: usize, adds_size: c_int, clears: c_int) -> c_uint = kinds::new_kind, Complete, "";
    fn GC_new_proc(function: MarkProc) -> c_uint = procedures::new_proc, Complete, "";
    fn GC_new_proc_inner(function: MarkProc) -> c_uint = procedures::new_proc, Complete, "";
    fn GC_generic_malloc(n: usize, kind: c_int) -> Ptr = held::generic_malloc, Complete, "";
    fn GC_generic_malloc_ignore_off_page(n: usize, kind: c_int) -> Ptr = held::generic_malloc, Complete, "";
    fn GC_generic_malloc_uncollectable(n: usize, kind: c_int) -> Ptr = held::generic_malloc_uncollectable, Complete, "";
    fn GC_generic_or_special_malloc(n: usize, kind: c_int) -> Ptr = held::generic_or_special_malloc, Complete, "";
    fn GC_generic_malloc_many(n: usize, kind: c_int, result: *mut Ptr) = chains::generic_malloc_many, Complete, "";
    fn GC_malloc_kind(n: usize, kind: c_int) -> Ptr = held::generic_malloc, Complete, "";
    fn GC_malloc_kind_global(n: usize, kind: c_int) -> Ptr = held::generic_malloc, Complete, "";
    fn GC_get_kind_and_size(object: Const, size: *mut usize) -> c_int = lookup::kind_and_size, Complete, "";
    fn GC_mark_and_push(object: Ptr, top: *mut Entry, limit: *mut Entry, source: *mut Ptr) -> *mut Entry = descriptors::mark_and_push, Complete, "The object is marked at once: no stack overflows.";
    fn GC_make_descriptor(bitmap: *const usize, bits: usize) -> usize = typed::make_descriptor, Complete, "";
    fn GC_malloc_explicitly_typed(n: usize, descriptor: usize) -> Ptr = typed::malloc, Complete, "";
    fn GC_malloc_explicitly_typed_ignore_off_page(n: usize, descriptor: usize) -> Ptr = typed::malloc, Complete, "";
    fn GC_calloc_explicitly_typed(n: usize, size: usize, descriptor: usize) -> Ptr = typed::calloc, Complete, "";
    fn GC_register_describe_type_fn(kind: c_int, function: Function) = rest::ignore_description, Nearest, "No reports describe objects.";
}
"Objects by their addresses" {
    fn GC_base(address: Ptr) -> Ptr = objects::base, Complete, "";
    fn GC_size(object: Const) -> usize = objects::size, Complete, "";
    fn GC_is_heap_ptr(address: Const) -> c_int = objects::is_heap_ptr, Complete, "";
    fn GC_same_obj(p: Ptr, q: Ptr) -> Ptr = checks::same_object, Complete, "";
    fn GC_is_valid_displacement(p: Ptr) -> Ptr = checks::is_valid_displacement, Complete, "";
    fn GC_is_visible(p: Ptr) -> Ptr = checks::is_visible, Complete, "";
    fn GC_pre_incr(p: *mut Ptr, by: isize) -> Ptr = checks::pre_increment, Complete, "";
    fn GC_post_incr(p: *mut Ptr, by: isize) -> Ptr = checks::post_increment, Complete, "";
    fn GC_register_displacement(offset: usize) = interior::register_displacement, Complete, "";
    fn GC_debug_register_displacement(offset: usize) = interior::register_displacement, Complete, "";
    fn GC_get_size_map_at(granules: c_int) -> usize = stats::size_map_at, Complete, "";
}
"Finalizers" {
    fn GC_register_finalizer(object: Ptr, function: Finalizer, data: Ptr, old: *mut Finalizer, old_data: *mut Ptr) = finalizers::register, Complete, "";
    fn GC_register_finalizer_ignore_self(object: Ptr, function: Finalizer, data: Ptr, old: *mut Finalizer, old_data: *mut Ptr) = finalizers::register_ignore_self, Complete, "";
    fn GC_register_finalizer_no_order(object: Ptr, function: Finalizer, data: Ptr, old: *mut Finalizer, old_data: *mut Ptr) = finalizers::register_no_order, Complete, "";
    fn GC_register_finalizer_unreachable(object: Ptr, function: Finalizer, data: Ptr, old: *mut Finalizer, old_data: *mut Ptr) = finalizers::register_unreachable, Complete, "";
    fn GC_invoke_finalizers() -> c_int = finalizers::invoke, Complete, "";
    fn GC_should_invoke_finalizers() -> c_int = finalizers::should_invoke, Complete, "";
    fn GC_finalize_all() = finalizers::finalize_all, Complete, "";
    fn GC_set_finalize_on_demand(on: c_int) = settings::set_finalize_on_demand, Complete, "";
    fn GC_get_finalize_on_demand() -> c_int = settings::finalize_on_demand, Complete, "";
    fn GC_set_finalizer_notifier(function: Procedure) = settings::set_finalizer_notifier, Complete, "";
    fn GC_get_finalizer_notifier() -> Procedure = settings::finalizer_notifier, Complete, "";
    fn GC_set_java_finalization(on: c_int) = settings::set_java_finalization, Complete, "";
    fn GC_get_java_finalization() -> c_int = settings::java_finalization, Complete, "";
    fn GC_set_await_finalize_proc(function: AwaitProc) = finalizers::set_await, Complete, "Called where the finalizer is about to run.";
    fn GC_get_await_finalize_proc() -> AwaitProc = finalizers::await_proc, Complete, "";
    fn GC_push_finalizer_structures() = rest::nothing, NoOp, "The collector knows its tables.";
    fn GC_register_disclaim_proc(kind: c_int, function: Function, marks_from: c_int) = rest::ignore_disclaim, Nearest, "The procedure is not called.";
    fn GC_init_finalized_malloc() = rest::nothing, Nearest, "";
    fn GC_finalized_malloc(n: usize, closure: Const) -> Ptr = rest::finalized_malloc, Nearest, "An ordinary, ordered finalizer, called where others are, and no room for the closure.";
    fn GC_set_toggleref_func(function: Function) = rest::set_toggleref, Nearest, "The function is not called.";
    fn GC_get_toggleref_func() -> Function = rest::toggleref, Complete, "";
    fn GC_toggleref_add(object: Ptr, is_strong: c_int) -> c_int = rest::toggleref_add, Nearest, "The object is kept for good.";
    fn GC_set_allocd_bytes_per_finalizer(bytes: usize) = settings::set_bytes_per_finalizer, NoOp, "A tuning knob.";
    fn GC_get_allocd_bytes_per_finalizer() -> usize = settings::bytes_per_finalizer, Complete, "";
}
"Disappearing links" {
    fn GC_register_disappearing_link(link: *mut Ptr) -> c_int = links::register, Complete, "";
    fn GC_general_register_disappearing_link(link: *mut Ptr, object: Const) -> c_int = links::register_general, Complete, "";
    fn GC_move_disappearing_link(link: *mut Ptr, to: *mut Ptr) -> c_int = links::move_short, Complete, "";
    fn GC_unregister_disappearing_link(link: *mut Ptr) -> c_int = links::unregister, Complete, "";
    fn GC_register_long_link(link: *mut Ptr, object: Const) -> c_int = links::register_long, Complete, "";
    fn GC_move_long_link(link: *mut Ptr, to: *mut Ptr) -> c_int = links::move_long, Complete, "";
    fn GC_unregister_long_link(link: *mut Ptr) -> c_int = links::unregister, Complete, "";
}
"Threads" {
    fn GC_pthread_create(thread: *mut Thread, attributes: Const, function: StartRoutine, argument: Ptr) -> c_int = pthreads::create, Complete, "";
    fn GC_pthread_join(thread: Thread, result: *mut Ptr) -> c_int = pthreads::join, Complete, "";
    fn GC_pthread_detach(thread: Thread) -> c_int = pthreads::detach, Complete, "";
    fn GC_pthread_cancel(thread: Thread) -> c_int = pthreads::cancel, Complete, "";
    fn GC_pthread_exit(result: Ptr) -> ! = pthreads::exit, Complete, "";
    fn GC_pthread_sigmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int = pthreads::sigmask, Complete, "The signal that stops threads stays unblocked.";
    fn GC_allow_register_threads() = registration::allow, Complete, "";
    fn GC_register_my_thread(base: *const StackBase) -> c_int = registration::register, Complete, "";
    fn GC_unregister_my_thread() -> c_int = registration::unregister, Complete, "";
    fn GC_thread_is_registered() -> c_int = registration::is_registered, Complete, "";
    fn GC_register_altstack(stack: Ptr, size: usize, alternate: Ptr, alternate_size: usize) = rest::ignore_altstack, NoOp, "Alternate stacks are recognised.";
    fn GC_get_stack_base(base: *mut StackBase) -> c_int = stacks::stack_base, Complete, "";
    fn GC_get_my_stackbottom(base: *mut StackBase) -> Ptr = stacks::my_bottom, Complete, "";
    fn GC_set_stackbottom(thread: Ptr, base: *const StackBase) = stacks::set_bottom, Complete, "";
    fn GC_call_with_stack_base(function: StackFunction, argument: Ptr) -> Ptr = stacks::call_with_base, Complete, "";
    fn GC_do_blocking(function: Callback, argument: Ptr) -> Ptr = blocking::do_blocking, Complete, "";
    fn GC_call_with_gc_active(function: Callback, argument: Ptr) -> Ptr = blocking::call_with_gc_active, Complete, "";
    fn GC_alloc_lock() = lock::lock, Complete, "Recursive.";
    fn GC_alloc_unlock() = lock::unlock, Complete, "";
    fn GC_call_with_alloc_lock(function: Callback, argument: Ptr) -> Ptr = lock::call_with, Complete, "No collection begins meanwhile.";
    fn GC_set_suspend_signal(signal: c_int) = threads::set_suspend_signal, Complete, "Refused with a warning once the heap exists.";
    fn GC_get_suspend_signal() -> c_int = threads::suspend_signal, Complete, "";
    fn GC_set_thr_restart_signal(signal: c_int) = threads::set_restart_signal, NoOp, "Threads wait for a word, not for a signal.";
    fn GC_get_thr_restart_signal() -> c_int = threads::restart_signal, Complete, "";
    fn GC_set_handle_fork(how: c_int) = rest::ignore_int, NoOp, "Forks are always handled.";
    fn GC_atfork_prepare() = rest::nothing, NoOp, "Forks are always handled.";
    fn GC_atfork_parent() = rest::nothing, NoOp, "Forks are always handled.";
    fn GC_atfork_child() = rest::nothing, NoOp, "Forks are always handled.";
    fn GC_start_mark_threads() = registration::allow, Complete, "";
    fn GC_set_markers_count(threads: c_uint) = threads::set_markers, Complete, "";
    fn GC_get_parallel() -> c_int = threads::parallel, Complete, "";
    fn GC_stop_world_external() = rest::nothing, Nearest, "No thread is stopped.";
    fn GC_start_world_external() = rest::nothing, Nearest, "";
    fn GC_suspend_thread(thread: Thread) = suspend::suspend, Complete, "In GC_do_blocking it stops at the end.";
    fn GC_resume_thread(thread: Thread) = suspend::resume, Complete, "";
    fn GC_is_thread_suspended(thread: Thread) -> c_int = suspend::is_suspended, Complete, "";
    fn GC_set_on_thread_event(function: ThreadEvent) = rest::set_thread_event, Nearest, "The function is not called.";
    fn GC_get_on_thread_event() -> ThreadEvent = rest::thread_event, Complete, "";
    fn GC_clear_stack(argument: Ptr) -> Ptr = rest::same, Complete, "";
}
"Roots" {
    fn GC_add_roots(low: Ptr, high: Ptr) = roots::add, Complete, "";
    fn GC_remove_roots(low: Ptr, high: Ptr) = roots::remove, Complete, "";
    fn GC_clear_roots() = roots::clear, Complete, "";
    fn GC_exclude_static_roots(low: Ptr, high: Ptr) = roots::exclude, Complete, "";
    fn GC_clear_exclusion_table() = roots::clear_exclusions, Complete, "";
    fn GC_is_tmp_root(address: Ptr) -> c_int = roots::is_temporary, Complete, "";
    fn GC_register_has_static_roots_callback(function: HasStaticRoots) = roots::set_filter, Complete, "";
    fn GC_dlopen(path: *const c_char, mode: c_int) -> Ptr = roots::dlopen, Complete, "A plain dlopen: collections go on during it.";
    fn GC_set_no_dls(on: c_int) = live::set_no_dls, Complete, "";
    fn GC_get_no_dls() -> c_int = settings::no_dls, Complete, "";
    fn GC_set_push_other_roots(function: Procedure) = settings::set_push_other_roots, Complete, "";
    fn GC_get_push_other_roots() -> Procedure = settings::push_other_roots, Complete, "";
    fn GC_push_all(low: Ptr, high: Ptr) = phases::push_all, Complete, "";
    fn GC_push_all_eager(low: Ptr, high: Ptr) = phases::push_all, Complete, "";
    fn GC_push_conditional(low: Ptr, high: Ptr, all: c_int) = phases::push_conditional, Complete, "All words are scanned.";
}
"Collections" {
    fn GC_gcollect() = collections::collect, Complete, "";
    fn GC_gcollect_and_unmap() = collections::collect_and_unmap, Complete, "";
    fn GC_try_to_collect(stop: StopFunction) -> c_int = collections::try_to_collect, Complete, "The function is asked before the threads stop.";
    fn GC_collect_a_little() -> c_int = collections::collect_a_little, Complete, "Returns 0: nothing is left to do.";
    fn GC_disable() = collections::disable, Complete, "";
    fn GC_enable() = collections::enable, Complete, "";
    fn GC_is_disabled() -> c_int = collections::is_disabled, Complete, "";
    fn GC_set_disable_automatic_collection(on: c_int) = live::set_manual, Complete, "";
    fn GC_get_disable_automatic_collection() -> c_int = live::is_manual, Complete, "";
    fn GC_set_stop_func(stop: StopFunction) = settings::set_stop_function, Complete, "";
    fn GC_get_stop_func() -> StopFunction = settings::stop_function, Complete, "";
    fn GC_enable_incremental() = rest::nothing, NoOp, "There are no incremental collections; GC_is_incremental_mode says so.";
    fn GC_is_incremental_mode() -> c_int = rest::zero, Complete, "0.";
    fn GC_start_incremental_collection() = rest::nothing, NoOp, "As above.";
    fn GC_incremental_protection_needs() -> c_int = rest::zero, Complete, "0: memory is never protected.";
    fn GC_set_manual_vdb_allowed(on: c_int) = settings::set_manual_vdb, NoOp, "A hint for virtual dirty bits.";
    fn GC_get_manual_vdb_allowed() -> c_int = settings::manual_vdb, Complete, "";
    fn GC_end_stubborn_change(object: Const) = rest::ignore_const, NoOp, "A hint for virtual dirty bits.";
    fn GC_change_stubborn(object: Const) = rest::ignore_const, NoOp, "Stubborn objects are ordinary ones.";
    fn GC_ptr_store_and_dirty(place: Ptr, value: Const) = rest::store, Complete, "";
    fn GC_is_marked(object: Const) -> c_int = phases::is_marked, Complete, "Outside collections: whether the object exists.";
    fn GC_set_mark_bit(object: Const) = phases::set_mark_bit, Complete, "In GC_push_other_roots it keeps the object; elsewhere it does nothing.";
    fn GC_clear_mark_bit(object: Const) = rest::ignore_const, NoOp, "The collector clears its bits itself.";
    fn GC_enumerate_reachable_objects_inner(function: Reachable, data: Ptr) = rest::enumerate, Nearest, "No object is named.";
    fn GC_set_full_freq(n: c_int) = settings::set_full_freq, NoOp, "A tuning knob of incremental collections.";
    fn GC_get_full_freq() -> c_int = settings::full_freq, Complete, "";
    fn GC_set_time_limit(ms: c_ulong) = settings::set_time_limit, NoOp, "A tuning knob of incremental collections.";
    fn GC_get_time_limit() -> c_ulong = settings::time_limit, Complete, "";
    fn GC_set_time_limit_tv(time: TimeLimit) = settings::set_time_limit_tv, NoOp, "A tuning knob of incremental collections.";
    fn GC_get_time_limit_tv() -> TimeLimit = settings::time_limit_tv, Complete, "";
    fn GC_set_rate(n: c_int) = settings::set_rate, NoOp, "A tuning knob of incremental collections.";
    fn GC_get_rate() -> c_int = settings::rate, Complete, "";
    fn GC_set_max_prior_attempts(n: c_int) = settings::set_max_prior_attempts, NoOp, "A tuning knob of incremental collections.";
    fn GC_get_max_prior_attempts() -> c_int = settings::max_prior_attempts, Complete, "";
    fn GC_set_force_unmap_on_gcollect(on: c_int) = settings::set_force_unmap, Complete, "";
    fn GC_get_force_unmap_on_gcollect() -> c_int = settings::force_unmap, Complete, "";
    fn GC_set_start_callback(function: Procedure) = settings::set_start_callback, Complete, "";
    fn GC_get_start_callback() -> Procedure = settings::start_callback, Complete, "";
    fn GC_set_on_collection_event(function: CollectionEvent) = settings::set_on_collection_event, Complete, "";
    fn GC_get_on_collection_event() -> CollectionEvent = settings::on_collection_event, Complete, "";
}
"Heap size and statistics" {
    fn GC_init() = start::init, Complete, "The heap is made when it is first of use.";
    fn GC_is_init_called() -> c_int = process::is_init_called, Complete, "";
    fn GC_deinit() = rest::nothing, NoOp, "The process ends with its heap.";
    fn GC_get_version() -> c_uint = version, Complete, "8.2.2.";
    fn GC_expand_hp(bytes: usize) -> c_int = sizes::expand, Complete, "No collection is due before the heap has grown by so much.";
    fn GC_set_max_heap_size(bytes: usize) = sizes::set_limit, Complete, "";
    fn GC_set_free_space_divisor(n: usize) = live::set_free_space_divisor, Complete, "";
    fn GC_get_free_space_divisor() -> usize = settings::free_space_divisor, Complete, "";
    fn GC_set_dont_expand(on: c_int) = settings::set_dont_expand, NoOp, "A tuning knob.";
    fn GC_get_dont_expand() -> c_int = settings::dont_expand, Complete, "";
    fn GC_set_dont_precollect(on: c_int) = settings::set_dont_precollect, NoOp, "There is no collection at the start.";
    fn GC_get_dont_precollect() -> c_int = settings::dont_precollect, Complete, "";
    fn GC_set_max_retries(n: usize) = settings::set_max_retries, NoOp, "A tuning knob.";
    fn GC_get_max_retries() -> usize = settings::max_retries, Complete, "";
    fn GC_set_min_bytes_allocd(bytes: usize) = settings::set_min_bytes, NoOp, "A tuning knob.";
    fn GC_get_min_bytes_allocd() -> usize = settings::min_bytes, Complete, "";
    fn GC_set_non_gc_bytes(bytes: usize) = settings::set_non_gc_bytes, NoOp, "A tuning knob.";
    fn GC_get_non_gc_bytes() -> usize = settings::non_gc_bytes, Complete, "";
    fn GC_set_pages_executable(on: c_int) = settings::set_pages_executable, Nearest, "Objects are not executable.";
    fn GC_get_pages_executable() -> c_int = rest::zero, Complete, "0.";
    fn GC_set_all_interior_pointers(on: c_int) = interior::set_all, Complete, "";
    fn GC_get_all_interior_pointers() -> c_int = interior::all, Complete, "";
    fn GC_get_heap_size() -> usize = stats::heap_size, Complete, "Bytes committed for objects.";
    fn GC_get_free_bytes() -> usize = stats::free_bytes, Complete, "Those of them in which nothing was alive at the last collection, and nothing was made since.";
    fn GC_get_unmapped_bytes() -> usize = stats::unmapped_bytes, Complete, "";
    fn GC_get_bytes_since_gc() -> usize = stats::bytes_since_gc, Complete, "";
    fn GC_get_expl_freed_bytes_since_gc() -> usize = stats::freed_since_gc, Complete, "";
    fn GC_get_total_bytes() -> usize = stats::total_bytes, Complete, "";
    fn GC_get_obtained_from_os_bytes() -> usize = stats::obtained_bytes, Complete, "";
    fn GC_get_heap_usage_safe(heap: *mut usize, free: *mut usize, unmapped: *mut usize, since: *mut usize, total: *mut usize) = stats::heap_usage, Complete, "";
    fn GC_get_prof_stats(to: *mut ProfStats, size: usize) -> usize = stats::prof_stats, Complete, "";
    fn GC_get_prof_stats_unsafe(to: *mut ProfStats, size: usize) -> usize = stats::prof_stats, Complete, "";
    fn GC_get_memory_use() -> usize = stats::memory_use, Complete, "Bytes alive at the last collection.";
    fn GC_get_gc_no() -> usize = stats::gc_no, Complete, "";
    fn GC_start_performance_measurement() = rest::nothing, NoOp, "Times are always measured.";
    fn GC_get_full_gc_total_time() -> c_ulong = stats::total_time, Complete, "";
    fn GC_incr_bytes_allocd(bytes: usize) = sizes::add_allocated, NoOp, "A tuning knob of inlined allocators.";
    fn GC_incr_bytes_freed(bytes: usize) = sizes::add_freed, NoOp, "As above.";
    fn GC_set_on_heap_resize(function: HeapResize) = settings::set_on_heap_resize, Complete, "Called after a collection that has changed the size.";
    fn GC_get_on_heap_resize() -> HeapResize = settings::on_heap_resize, Complete, "";
}
"Errors and reports" {
    fn GC_set_oom_fn(function: OomFunction) = settings::set_oom_fn, Complete, "";
    fn GC_get_oom_fn() -> OomFunction = settings::oom_fn, Complete, "";
    fn GC_set_warn_proc(function: WarnProc) = settings::set_warn_proc, Complete, "";
    fn GC_get_warn_proc() -> WarnProc = settings::warn_proc, Complete, "";
    fn GC_ignore_warn_proc(text: *mut c_char, word: usize) = rest::ignore_warning, Complete, "";
    fn GC_set_abort_func(function: AbortFunction) = settings::set_abort_function, Complete, "";
    fn GC_get_abort_func() -> AbortFunction = settings::abort_function, Complete, "";
    fn GC_abort_on_oom() -> ! = report::abort_on_oom, Complete, "";
    fn GC_set_log_fd(file: c_int) = log::set_log, Complete, "";
    fn GC_printf(format: *const c_char, a: usize, b: usize, c: usize, d: usize, e: usize, f0: f64, f1: f64, f2: f64, f3: f64, f4: f64, f5: f64, f6: f64, f7: f64, g: usize, h: usize, i: usize, j: usize) = log::printf, Complete, "Up to nine arguments that are not floating.";
    fn GC_err_printf(format: *const c_char, a: usize, b: usize, c: usize, d: usize, e: usize, f0: f64, f1: f64, f2: f64, f3: f64, f4: f64, f5: f64, f6: f64, f7: f64, g: usize, h: usize, i: usize, j: usize) = log::err_printf, Complete, "As above.";
    fn GC_log_printf(format: *const c_char, a: usize, b: usize, c: usize, d: usize, e: usize, f0: f64, f1: f64, f2: f64, f3: f64, f4: f64, f5: f64, f6: f64, f7: f64, g: usize, h: usize, i: usize, j: usize) = log::log_printf, Complete, "As above.";
    fn GC_dump() = printing::dump, Complete, "Prints the heap's statistics.";
    fn GC_dump_named(name: *const c_char) = printing::dump_named, Complete, "As above.";
    fn GC_dump_regions() = printing::dump, Nearest, "As GC_dump.";
    fn GC_dump_finalization() = printing::dump, Nearest, "As GC_dump.";
    fn GC_print_free_list(kind: c_int, granules: usize) = rest::ignore_list, Nearest, "There are no free lists.";
    fn GC_noop1(word: usize) = rest::ignore_word, Complete, "";
    fn GC_set_find_leak(on: c_int) = rest::ignore_int, Nearest, "Leaks are not looked for: unreachable objects are freed.";
    fn GC_get_find_leak() -> c_int = rest::zero, Complete, "0.";
}
"Debugging, and gcj" {
    fn GC_debug_malloc(n: usize, file: *const c_char, line: c_int) -> Ptr = debug::malloc, Nearest, "As without debugging.";
    fn GC_debug_malloc_atomic(n: usize, file: *const c_char, line: c_int) -> Ptr = debug::malloc_atomic, Nearest, "As without debugging.";
    fn GC_debug_malloc_ignore_off_page(n: usize, file: *const c_char, line: c_int) -> Ptr = debug::malloc, Nearest, "As without debugging.";
    fn GC_debug_malloc_atomic_ignore_off_page(n: usize, file: *const c_char, line: c_int) -> Ptr = debug::malloc_atomic, Nearest, "As without debugging.";
    fn GC_debug_malloc_uncollectable(n: usize, file: *const c_char, line: c_int) -> Ptr = debug::malloc_uncollectable, Nearest, "As without debugging.";
    fn GC_debug_malloc_atomic_uncollectable(n: usize, file: *const c_char, line: c_int) -> Ptr = debug::malloc_atomic_uncollectable, Nearest, "As without debugging.";
    fn GC_debug_malloc_stubborn(n: usize, file: *const c_char, line: c_int) -> Ptr = debug::malloc, Nearest, "As without debugging.";
    fn GC_debug_malloc_replacement(n: usize) -> Ptr = alloc::malloc, Nearest, "As without debugging.";
    fn GC_debug_realloc(object: Ptr, n: usize, file: *const c_char, line: c_int) -> Ptr = debug::realloc, Nearest, "As without debugging.";
    fn GC_debug_realloc_replacement(object: Ptr, n: usize) -> Ptr = objects::realloc, Nearest, "As without debugging.";
    fn GC_debug_generic_or_special_malloc(n: usize, kind: c_int, file: *const c_char, line: c_int) -> Ptr = debug::generic_or_special_malloc, Nearest, "As without debugging.";
    fn GC_debug_strdup(text: *const c_char, file: *const c_char, line: c_int) -> *mut c_char = debug::strdup, Nearest, "As without debugging.";
    fn GC_debug_strndup(text: *const c_char, most: usize, file: *const c_char, line: c_int) -> *mut c_char = debug::strndup, Nearest, "As without debugging.";
    fn GC_debug_free(object: Ptr) = objects::free, Nearest, "As without debugging.";
    fn GC_debug_change_stubborn(object: Const) = rest::ignore_const, NoOp, "Stubborn objects are ordinary ones.";
    fn GC_debug_end_stubborn_change(object: Const) = rest::ignore_const, NoOp, "A hint for virtual dirty bits.";
    fn GC_debug_ptr_store_and_dirty(place: Ptr, value: Const) = rest::store, Nearest, "As without debugging.";
    fn GC_debug_register_finalizer(object: Ptr, function: Finalizer, data: Ptr, old: *mut Finalizer, old_data: *mut Ptr) = finalizers::register, Nearest, "As without debugging.";
    fn GC_debug_register_finalizer_ignore_self(object: Ptr, function: Finalizer, data: Ptr, old: *mut Finalizer, old_data: *mut Ptr) = finalizers::register_ignore_self, Nearest, "As without debugging.";
    fn GC_debug_register_finalizer_no_order(object: Ptr, function: Finalizer, data: Ptr, old: *mut Finalizer, old_data: *mut Ptr) = finalizers::register_no_order, Nearest, "As without debugging.";
    fn GC_debug_register_finalizer_unreachable(object: Ptr, function: Finalizer, data: Ptr, old: *mut Finalizer, old_data: *mut Ptr) = finalizers::register_unreachable, Nearest, "As without debugging.";
    fn GC_get_debug_header_size() -> usize = debug::header_size, Complete, "0: there is none.";
    fn GC_init_gcj_malloc(index: c_int, function: Ptr) = rest::ignore_gcj, Nearest, "All words of gcj's objects are scanned.";
    fn GC_gcj_malloc(n: usize, table: Ptr) -> Ptr = rest::gcj_malloc, Nearest, "As above.";
    fn GC_gcj_malloc_ignore_off_page(n: usize, table: Ptr) -> Ptr = rest::gcj_malloc, Nearest, "As above.";
    fn GC_debug_gcj_malloc(n: usize, table: Ptr, file: *const c_char, line: c_int) -> Ptr = debug::gcj_malloc, Nearest, "As above.";
}
}
variables {
    static GC_gc_no: AtomicUsize = AtomicUsize::new(0), Complete, "Collections so far.";
    static GC_parallel: AtomicI32 = AtomicI32::new(0), Complete, "";
    static GC_oom_fn: Pointer = Pointer::new(defaults::no_memory as *mut c_void), Complete, "";
    static GC_on_heap_resize: Pointer = Pointer::null(), Complete, "";
    static GC_find_leak: AtomicI32 = AtomicI32::new(0), Nearest, "Read by nobody.";
    static GC_all_interior_pointers: AtomicI32 = AtomicI32::new(1), Complete, "Counts until the heap is made.";
    static GC_finalize_on_demand: AtomicI32 = AtomicI32::new(0), Complete, "";
    static GC_java_finalization: AtomicI32 = AtomicI32::new(1), Complete, "";
    static GC_finalizer_notifier: Pointer = Pointer::null(), Complete, "";
    static GC_dont_gc: AtomicI32 = AtomicI32::new(0), Complete, "A direct store counts from the next slow path of an allocation on.";
    static GC_dont_expand: AtomicI32 = AtomicI32::new(0), NoOp, "A tuning knob.";
    static GC_use_entire_heap: AtomicI32 = AtomicI32::new(0), NoOp, "A tuning knob.";
    static GC_full_freq: AtomicI32 = AtomicI32::new(19), NoOp, "A tuning knob of incremental collections.";
    static GC_non_gc_bytes: AtomicUsize = AtomicUsize::new(0), NoOp, "A tuning knob.";
    static GC_no_dls: AtomicI32 = AtomicI32::new(0), Complete, "";
    static GC_free_space_divisor: AtomicUsize = AtomicUsize::new(3), Complete, "";
    static GC_max_retries: AtomicUsize = AtomicUsize::new(0), NoOp, "A tuning knob.";
    static GC_stackbottom: AtomicUsize = AtomicUsize::new(0), Complete, "Read in each stop.";
    static GC_dont_precollect: AtomicI32 = AtomicI32::new(0), NoOp, "There is no collection at the start.";
    static GC_time_limit: AtomicUsize = AtomicUsize::new(999_999), NoOp, "A tuning knob of incremental collections.";
    static GC_push_other_roots: Pointer = Pointer::null(), Complete, "";
    static GC_on_abort: Pointer = Pointer::new(defaults::no_abort as *mut c_void), Complete, "";
    static GC_least_plausible_heap_addr: AtomicUsize = AtomicUsize::new(usize::MAX), Complete, "The heap's window.";
    static GC_greatest_plausible_heap_addr: AtomicUsize = AtomicUsize::new(0), Complete, "";
    static GC_same_obj_print_proc: Pointer = Pointer::new(defaults::fail_two as *mut c_void), Complete, "";
    static GC_is_valid_displacement_print_proc: Pointer = Pointer::new(defaults::fail_one as *mut c_void), Complete, "";
    static GC_is_visible_print_proc: Pointer = Pointer::new(defaults::fail_one as *mut c_void), Complete, "";
    static GC_debug_header_size: usize = 0, Complete, "There is none.";
    static GC_gcj_kind: AtomicI32 = AtomicI32::new(1), Nearest, "";
    static GC_gcj_debug_kind: AtomicI32 = AtomicI32::new(1), Nearest, "";
    static GC_arrays: AtomicUsize = AtomicUsize::new(0), Nearest, "libgc's inside: one word that is not used.";
    static GC_objfreelist_ptr: Pointer = Pointer::null(), Nearest, "libgc's inside: not used.";
    static GC_aobjfreelist_ptr: Pointer = Pointer::null(), Nearest, "libgc's inside: not used.";
    static GC_uobjfreelist_ptr: Pointer = Pointer::null(), Nearest, "libgc's inside: not used.";
    static GC_auobjfreelist_ptr: Pointer = Pointer::null(), Nearest, "libgc's inside: not used.";
}
        }
    };
}
