/* A library that keeps objects in its own variables, for libraries.c. */
#include <stddef.h>

static void *volatile kept;

void plugin_keep(void *object);
void *plugin_kept(void);

void plugin_keep(void *object) { kept = object; }

void *plugin_kept(void) { return kept; }
