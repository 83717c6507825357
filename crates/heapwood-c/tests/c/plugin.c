/* A library that keeps what it is given in variables of its own, for libraries.c. */
#include <stddef.h>

static void *volatile kept;

void plugin_keep(void *object);
void *plugin_kept(void);

void plugin_keep(void *object) { kept = object; }

void *plugin_kept(void) { return kept; }
