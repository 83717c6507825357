/* Binary trees in APR's pools, the arenas of Apache's httpd and of Subversion. A
   pool for each arena, below one for each thread, whose allocator keeps what
   destroyed pools had, and needs no lock. */
#include <apr_general.h>
#include <apr_pools.h>
#include <apr_version.h>

#include "../node.h"

struct arena {
    apr_pool_t *pool;
};

static _Thread_local apr_pool_t *pool_of_thread;

static void check_status(apr_status_t status) {
    if (status != APR_SUCCESS) check_memory(NULL);
}

static int out_of_memory(int status) {
    (void)status;
    check_memory(NULL);
    return status;
}

static void begin_thread(void) {
    apr_allocator_t *allocator;
    check_status(apr_allocator_create(&allocator));
    check_status(apr_pool_create_ex(&pool_of_thread, NULL, out_of_memory, allocator));
    apr_allocator_owner_set(allocator, pool_of_thread);
}

/* The allocator goes with it. */
static void end_thread(void) {
    apr_pool_destroy(pool_of_thread);
}

static void begin_arena(struct arena *arena) {
    check_status(apr_pool_create(&arena->pool, pool_of_thread));
}

static void free_arena(struct arena *arena) {
    apr_pool_destroy(arena->pool);
}

static inline struct node *new_node(struct arena *arena, struct node *left, struct node *right) {
    struct node *node = apr_palloc(arena->pool, sizeof *node);
    *node = (struct node){.left = left, .right = right};
    return node;
}

#include "../trees-arena.h"

int main(int argc, char **argv) {
    char version[32];
    snprintf(version, sizeof version, "APR %s", apr_version_string());
    answer_version(argc, argv, version);
    check_status(apr_initialize());
    int status = run_trees_arena(argc, argv);
    apr_terminate();
    return status;
}
