/* A small Lisp over a collected heap: integers, symbols, pairs, closures, tail calls, ports, errors that are told. It is what
 * docs/guide/c.md explains in four steps. Local variables need no bookkeeping, since the collector scans the stack; what must
 * outlive every call hangs off three registered slots; stores into objects that are not new go through hw_write. Symbols are
 * in a weak table, so those that nobody uses go; files are closed when their ports are forgotten; and where memory is limited
 * and used up, that is an error like any other.
 *
 *     lisp [--limit BYTES] [--verify] [FILE]
 *
 * runs a file, or standard input, and prints what each expression at the top gives. After an error it goes on with the next. */
#include <ctype.h>
#include <errno.h>
#include <heapwood.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------ 1. values, and their types -- */

/* Every object begins with its kind. What is no object of the heap, as the empty list, the built-in functions and the special
 * forms, is a variable of this program: slots may point to those as well. */
enum kind { NIL, NUMBER, SYMBOL, PAIR, CLOSURE, PORT, BUILTIN, FORM };
typedef struct object {
    enum kind kind;
} object;
struct number { object head; int64_t value; };
struct symbol { object head; object *value; char *name; }; /* the value is that of the global variable, or NULL */
struct pair { object head; object *first, *rest; };
struct closure { object head; object *parameters, *body, *env; };
struct port { object head; FILE *file; hw_finalizer closer; }; /* the file is NULL when it was closed */
struct builtin { object head; const char *name; object *(*call)(object *arguments); };

static object nil = {NIL}, end_of_input = {NIL};

static hw_heap *heap;
static hw_mutator *m; /* this thread's part in the heap */
static hw_type number_type, symbol_type, pair_type, closure_type, port_type;

/* The roots beside the stack. */
static struct {
    object *globals; /* the symbols that were given a value, in a list: it would go with them */
    void *symbols;   /* the weak table of all symbols, by their names */
    void *reserve;   /* bytes that are given up where there is no room, so that it can be made */
} kept = {&nil, NULL, NULL};

/* ----------------------------------------------------------------------------------------- errors, and allocation -- */

static jmp_buf top;        /* where an error leads: the loop over the expressions of the file */
static int depth;          /* how deep eval, read and print have called themselves */
enum { DEEPEST = 10000 };  /* two megabytes of stack */

_Noreturn static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("error: ");
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
    longjmp(top, 1); /* What only the frames that are left referred to is garbage from here on. */
}

/* There is no room. What the expression had made is garbage now; but if the rest is too much as well, what drops some of it
 * must be read and evaluated first. For that there is a reserve. */
_Noreturn static void no_room(void) {
    kept.reserve = NULL;
    fail("%s", hw_last_error(m)->text);
}

/* Takes the reserve again, once there is room for more than that. */
static void take_reserve(void) {
    enum { RESERVE = 1 << 18 };
    if (kept.reserve != NULL) return;
    void *more = hw_alloc_bytes(m, 2 * RESERVE);
    if (more == NULL) return;
    hw_free(m, more); /* nobody else knows it */
    kept.reserve = hw_alloc_bytes(m, RESERVE);
}

static void enter(void) {
    if (++depth > DEEPEST) fail("nested too deep");
}

/* A new object may be filled with plain stores until the next allocation or poll: the functions below do no more. */
static object *made(void *memory, enum kind kind) {
    if (memory == NULL) no_room();
    object *o = memory;
    o->kind = kind;
    return o;
}

static object *number(int64_t value) {
    object *o = made(hw_alloc(m, number_type), NUMBER);
    ((struct number *)o)->value = value;
    return o;
}

static object *cons(object *first, object *rest) {
    object *o = made(hw_alloc(m, pair_type), PAIR);
    ((struct pair *)o)->first = first;
    ((struct pair *)o)->rest = rest;
    return o;
}

static object *closure(object *parameters, object *body, object *env) {
    object *o = made(hw_alloc(m, closure_type), CLOSURE);
    struct closure *c = (struct closure *)o;
    c->parameters = parameters, c->body = body, c->env = env;
    return o;
}

/* ---------------------------------------------------------------------------------------------------------- pairs -- */

static struct pair *pair(object *o) {
    if (o->kind != PAIR) fail("a list is too short, or no list");
    return (struct pair *)o;
}
static object *first(object *o) { return pair(o)->first; }
static object *rest(object *o) { return pair(o)->rest; }

/* These pairs are not new any more, so a collector that marks beside the program must learn of the store. */
static void set_first(object *o, object *value) { hw_write(m, o, &pair(o)->first, value); }
static void set_rest(object *o, object *value) { hw_write(m, o, &pair(o)->rest, value); }

/* Puts a value behind the last pair of a list that is being built. */
static void append(object **list, object **last, object *value) {
    object *next = cons(value, &nil);
    if (*last == NULL) *list = next;
    else set_rest(*last, next);
    *last = next;
}

/* ------------------------------------------------------------------------------------------- symbols, variables -- */

static bool has_name(void *symbol, void *name) { return strcmp(((struct symbol *)symbol)->name, name) == 0; }

static uint64_t hash_of(const char *name) { /* FNV-1a */
    uint64_t hash = 0xCBF29CE484222325;
    for (; *name != '\0'; name++) hash = (hash ^ (unsigned char)*name) * 0x100000001B3;
    return hash;
}

/* The one symbol of a name. The table compares names, and keeps no symbol alive. */
static object *symbol(const char *name) {
    uint64_t hash = hash_of(name);
    object *found = hw_weak_table_intern(m, kept.symbols, hash, has_name, (void *)name, NULL);
    if (found != NULL) return found;
    size_t length = strlen(name) + 1;
    char *copy = hw_alloc_bytes(m, length);
    if (copy == NULL) no_room();
    memcpy(copy, name, length);
    object *o = made(hw_alloc(m, symbol_type), SYMBOL);
    ((struct symbol *)o)->name = copy;
    if (hw_weak_table_intern(m, kept.symbols, hash, has_name, copy, o) == NULL) no_room();
    return o;
}

static struct symbol *named(object *o) {
    if (o->kind != SYMBOL) fail("not a symbol");
    return (struct symbol *)o;
}

/* The slot of a variable, and the object that it is in. An environment is a list of (name . value), inner names first; what
 * it does not have is global. */
static object **variable(object *name, object *env, object **owner) {
    for (; env->kind == PAIR; env = rest(env))
        if (first(first(env)) == name) return *owner = first(env), &pair(*owner)->rest;
    *owner = name;
    return &named(name)->value;
}

static object *value_of(object *name, object *env) {
    object *owner, *value = *variable(name, env, &owner);
    if (value == NULL) fail("%s is not defined", named(name)->name);
    return value;
}

static object *assign(object *name, object *env, object *value) {
    value_of(name, env);
    object *owner, **slot = variable(name, env, &owner);
    hw_write(m, owner, slot, value);
    return value;
}

/* A symbol with a value is kept, whether or not a program that was read so far has its name. */
static object *define(object *name, object *value) {
    if (named(name)->value == NULL) kept.globals = cons(name, kept.globals); /* a root slot: a plain store is right */
    hw_write(m, name, &named(name)->value, value);
    return name;
}

static object *bind(object *parameters, object *arguments, object *env) {
    for (; parameters->kind == PAIR; parameters = rest(parameters), arguments = rest(arguments))
        env = cons(cons(first(parameters), first(arguments)), env);
    if (parameters->kind == SYMBOL) return cons(cons(parameters, arguments), env); /* (lambda all ..) takes a list */
    if (arguments->kind != NIL) fail("too many arguments");
    return env;
}

/* ---------------------------------------------------------------------------------------------------------- ports -- */

/* A port owns a FILE. The collector closes none: when a port is dead the FILE, which is the data of its finaliser, is on a
 * queue, and this interpreter looks there between two evaluations, when no port is being read or written. */
static bool some_are_dead;
static void ports_died(void *arg) { (void)arg, some_are_dead = true; }

enum { FILE_BYTES = 8192 }; /* of malloc, most of it a buffer: a port is small, and yet many of them are much memory */

static bool close_file(FILE *file) {
    hw_external(m, -FILE_BYTES);
    return fclose(file) == 0;
}

static void close_dead(void) {
    some_are_dead = false;
    for (void *file; hw_finalize_next_data(heap, 0, &file);) close_file(file);
}

static object *open_port(const char *name, const char *how) {
    struct port *p = (struct port *)made(hw_alloc(m, port_type), PORT);
    FILE *file = fopen(name, how);
    if (file == NULL && errno == EMFILE) { /* ports that were forgotten may have them all */
        hw_collect(m);
        close_dead();
        file = fopen(name, how);
    }
    if (file == NULL) fail("%s: %s", name, strerror(errno));
    if (hw_external(m, FILE_BYTES)) fclose(file), no_room();
    if (hw_finalize_data(m, p, 0, file, &p->closer)) close_file(file), no_room();
    p->file = file;
    return &p->head;
}

static FILE *file_of(object *o) {
    if (o->kind != PORT) fail("not a port");
    FILE *file = ((struct port *)o)->file;
    if (file == NULL) fail("the port was closed");
    return file;
}

static object *close_port(object *o) {
    FILE *file = file_of(o);
    hw_finalize_cancel(heap, ((struct port *)o)->closer, NULL, NULL);
    ((struct port *)o)->file = NULL;
    if (!close_file(file)) fail("not all was written: %s", strerror(errno));
    return &nil;
}

/* ----------------------------------------------------------------------------------------------------- evaluation -- */

static struct builtin quote = {{FORM}, "quote", NULL}, lambda = {{FORM}, "lambda", NULL}, when = {{FORM}, "if", NULL},
                      definition = {{FORM}, "define", NULL}, set = {{FORM}, "set!", NULL}, begin = {{FORM}, "begin", NULL};

static object *eval(object *e, object *env);

static object *eval_all(object *list, object *env) {
    object *values = &nil, *last = NULL;
    for (; list->kind == PAIR; list = rest(list)) append(&values, &last, eval(first(list), env));
    return values;
}

/* All but the last expression of a body, which is the caller's to evaluate. */
static object *eval_but_last(object *body, object *env) {
    for (; rest(body)->kind == PAIR; body = rest(body)) eval(first(body), env);
    return first(body);
}

/* A tail call is another turn of this loop: a new expression in a new environment, without more of the stack. */
static object *eval_here(object *e, object *env) {
    for (;;) {
        hw_safepoint(m); /* A loop that allocates nothing must not keep others waiting. */
        if (some_are_dead) close_dead();
        if (e->kind == SYMBOL) return value_of(e, env);
        if (e->kind != PAIR) return e;
        object *head = eval(first(e), env), *operands = rest(e);
        if (head == &quote.head) return first(operands);
        if (head == &lambda.head) return closure(first(operands), rest(operands), env);
        if (head == &definition.head) return define(first(operands), eval(first(rest(operands)), env));
        if (head == &set.head) return assign(first(operands), env, eval(first(rest(operands)), env));
        if (head == &when.head) {
            object *branches = rest(operands);
            if (eval(first(operands), env)->kind == NIL) branches = rest(branches);
            if (branches->kind == NIL) return &nil;
            e = first(branches);
        } else if (head == &begin.head) {
            e = eval_but_last(operands, env);
        } else if (head->kind == BUILTIN) {
            return ((struct builtin *)head)->call(eval_all(operands, env));
        } else if (head->kind == CLOSURE) {
            struct closure *c = (struct closure *)head;
            env = bind(c->parameters, eval_all(operands, env), c->env);
            e = eval_but_last(c->body, env);
        } else {
            fail("not a function");
        }
    }
}

static object *eval(object *e, object *env) {
    enter();
    object *value = eval_here(e, env);
    depth--;
    return value;
}

/* ------------------------------------------------------------------------------------------------------- printing -- */

static FILE *output;

static void print(object *o) {
    enter();
    switch (o->kind) {
    case NIL: fprintf(output, "()"); break;
    case NUMBER: fprintf(output, "%lld", (long long)((struct number *)o)->value); break;
    case SYMBOL: fprintf(output, "%s", named(o)->name); break;
    case PORT: fprintf(output, "#<port>"); break;
    case CLOSURE: fprintf(output, "#<function>"); break;
    case BUILTIN:
    case FORM: fprintf(output, "#<%s>", ((struct builtin *)o)->name); break;
    case PAIR:
        for (int shown = 0; o->kind == PAIR; o = rest(o), shown++) {
            fprintf(output, shown == 0 ? "(" : " ");
            if (shown == 1000) { /* It may be a ring. */
                fprintf(output, "..");
                o = &nil;
                break;
            }
            print(first(o));
        }
        if (o->kind != NIL) fprintf(output, " . "), print(o);
        putc(')', output);
    }
    depth--;
}

/* -------------------------------------------------------------------------------------------------------- reading -- */

static FILE *program, *input;

static int peek(void) {
    int c = getc(input);
    while (isspace(c) || c == ';') {
        if (c == ';') while (c != '\n' && c != EOF) c = getc(input);
        else c = getc(input);
    }
    return ungetc(c, input);
}

static object *read_atom(void) {
    char text[64], *end;
    size_t length = 0;
    for (int c; (c = getc(input)) != EOF; text[length++] = (char)c) {
        if (isspace(c) || strchr("()';", c) != NULL) {
            ungetc(c, input);
            break;
        }
        if (length == sizeof text - 1) fail("a name of more than %d bytes", (int)length);
    }
    text[length] = '\0';
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (*end != '\0') return symbol(text);
    if (errno != 0) fail("%s is too large", text);
    return number(value);
}

static object *read_one(void) {
    int c = peek();
    if (c == EOF) return &end_of_input;
    if (c != '(' && c != ')' && c != '\'') return read_atom();
    getc(input);
    if (c == ')') fail("a ) too many");
    enter();
    object *o = &nil, *last = NULL;
    if (c == '\'') {
        o = cons(read_one(), &nil);
        o = cons(symbol("quote"), o);
    } else {
        while ((c = peek()) != ')' && c != EOF) append(&o, &last, read_one());
        if (c == EOF) fail("a ) is missing");
        getc(input);
    }
    depth--;
    return o;
}

/* ------------------------------------------------------------------------------------------------------ functions -- */

static int64_t integer(object *o) {
    if (o->kind != NUMBER) fail("not a number");
    return ((struct number *)o)->value;
}

static object *t; /* one of the globals */
static object *truth(bool is) { return is ? t : &nil; }

#define ARITHMETIC(name, operation)                                                                            \
    static object *name(object *a) {                                                                           \
        int64_t value = integer(first(a));                                                                     \
        for (a = rest(a); a->kind == PAIR; a = rest(a))                                                        \
            if (operation(value, integer(first(a)), &value)) fail("a number is too large");                    \
        return number(value);                                                                                  \
    }
ARITHMETIC(add, __builtin_add_overflow)
ARITHMETIC(subtract, __builtin_sub_overflow)
ARITHMETIC(multiply, __builtin_mul_overflow)

static object *less(object *a) { return truth(integer(first(a)) < integer(first(rest(a)))); }
static object *equal(object *a) {
    object *x = first(a), *y = first(rest(a));
    return truth(x == y || (x->kind == NUMBER && y->kind == NUMBER && integer(x) == integer(y)));
}
static object *do_cons(object *a) { return cons(first(a), first(rest(a))); }
static object *do_first(object *a) { return first(first(a)); }
static object *do_rest(object *a) { return rest(first(a)); }
static object *do_set_first(object *a) { return set_first(first(a), first(rest(a))), first(a); }
static object *do_set_rest(object *a) { return set_rest(first(a), first(rest(a))), first(a); }
static object *is_pair(object *a) { return truth(first(a)->kind == PAIR); }
static object *list(object *a) { return a; }
static object *display(object *a) { return print(first(a)), putc('\n', output), &nil; }

static object *do_open(object *a) { return open_port(named(first(a))->name, "r"); }
static object *do_create(object *a) { return open_port(named(first(a))->name, "w"); }
static object *do_close(object *a) { return close_port(first(a)); }
/* What a port has next, () at its end. The port may be dead before all is read, as far as the compiler and the collector are
 * concerned; its file is closed by the next evaluation, not before. */
static object *do_read(object *a) {
    input = file_of(first(a));
    object *o = read_one();
    input = program;
    return o == &end_of_input ? &nil : o;
}
static object *do_write(object *a) {
    output = file_of(first(a));
    print(first(rest(a)));
    bool is_written = putc('\n', output) != EOF;
    output = stdout;
    if (!is_written) fail("it cannot be written to: %s", strerror(errno));
    return &nil;
}

/* The symbol whose name is that of another, and a number. */
static object *do_symbol(object *a) {
    char name[128];
    snprintf(name, sizeof name, "%s%lld", named(first(a))->name, (long long)integer(first(rest(a))));
    return symbol(name);
}
static object *symbols(object *a) { return (void)a, number((int64_t)hw_weak_table_count(m, kept.symbols)); }
static object *collect(object *a) { return (void)a, hw_collect(m), &nil; }
static object *collections(object *a) {
    (void)a;
    hw_stats stats = {.size = sizeof stats};
    hw_stats_get(heap, &stats);
    return number((int64_t)stats.collections);
}

static struct builtin builtins[] = {
    {{BUILTIN}, "+", add},           {{BUILTIN}, "-", subtract},       {{BUILTIN}, "*", multiply},
    {{BUILTIN}, "<", less},          {{BUILTIN}, "=", equal},          {{BUILTIN}, "cons", do_cons},
    {{BUILTIN}, "first", do_first},  {{BUILTIN}, "rest", do_rest},     {{BUILTIN}, "set-first!", do_set_first},
    {{BUILTIN}, "pair?", is_pair},   {{BUILTIN}, "list", list},        {{BUILTIN}, "set-rest!", do_set_rest},
    {{BUILTIN}, "display", display}, {{BUILTIN}, "collections", collections},
    {{BUILTIN}, "open", do_open},    {{BUILTIN}, "create", do_create}, {{BUILTIN}, "close", do_close},
    {{BUILTIN}, "read", do_read},    {{BUILTIN}, "write", do_write},   {{BUILTIN}, "symbol", do_symbol},
    {{BUILTIN}, "symbols", symbols}, {{BUILTIN}, "collect", collect},
};
static struct builtin *const forms[] = {&quote, &lambda, &when, &definition, &set, &begin};

static void define_builtins(void) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) define(symbol(builtins[i].name), &builtins[i].head);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) define(symbol(forms[i]->name), &forms[i]->head);
    t = symbol("t");
    define(t, t);
}

/* ------------------------------------------------------------------------------------------------- the whole thing -- */

static int give_up(const char *what, const char *why) {
    fprintf(stderr, "lisp: %s: %s\n", what, why);
    return 1;
}

/* Overwrites the stack of the frames that an error has left: words of theirs that a new frame does not write would keep
 * objects alive. */
static __attribute__((noinline)) void wipe(void) {
    volatile char left[1 << 16];
    for (size_t i = 0; i < sizeof left; i++) left[i] = 0;
}

int main(int argc, char **argv) {
    hw_options options;
    hw_error why;
    hw_options_init(&options);
    hw_options_env(&options, NULL);
    program = stdin;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verify") == 0) options.verify = 1;
        else if (strcmp(argv[i], "--limit") == 0 && i + 1 < argc) options.limit = strtoull(argv[++i], NULL, 10);
        else if ((program = fopen(argv[i], "r")) == NULL) return give_up(argv[i], strerror(errno));
    }
    if (options.limit != 0) options.min_heap = options.limit / 2;

    /* A heap, this thread in it, the types of its objects, and the slots that are roots. */
    uint64_t symbol_mask = HW_POINTER(struct symbol, value) | HW_POINTER(struct symbol, name);
    uint64_t pair_mask = HW_POINTER(struct pair, first) | HW_POINTER(struct pair, rest);
    uint64_t closure_mask = HW_POINTER(struct closure, parameters) | HW_POINTER(struct closure, body) |
                            HW_POINTER(struct closure, env);
    if (hw_heap_create(&options, &heap, &why) || hw_attach(heap, NULL, &m, &why) ||
        hw_type_no_pointers(heap, sizeof(struct number), &number_type, &why) ||
        hw_type_mask(heap, sizeof(struct symbol), &symbol_mask, 1, &symbol_type, &why) ||
        hw_type_mask(heap, sizeof(struct pair), &pair_mask, 1, &pair_type, &why) ||
        hw_type_mask(heap, sizeof(struct closure), &closure_mask, 1, &closure_type, &why) ||
        hw_type_no_pointers(heap, sizeof(struct port), &port_type, &why) ||
        hw_type_name(heap, number_type, "number", &why) || hw_type_name(heap, symbol_type, "symbol", &why) ||
        hw_type_name(heap, pair_type, "pair", &why) || hw_type_name(heap, closure_type, "closure", &why) ||
        hw_type_name(heap, port_type, "port", &why) || hw_finalize_call(heap, 0, ports_died, NULL, &why) ||
        hw_root_slots(heap, &kept, sizeof kept / sizeof(void *), &why) == 0)
        return give_up("no heap", why.text);

    output = stdout;
    if (setjmp(top) != 0) return give_up("the built-in functions", hw_last_error(m)->text);
    if ((kept.symbols = hw_weak_table_new(m)) == NULL) return give_up("no table", hw_last_error(m)->text);
    define_builtins();
    if (setjmp(top) != 0) wipe(); /* An error comes back to here, and the loop goes on behind what was read. */
    input = program;
    output = stdout;
    for (depth = 0;;) {
        take_reserve();
        object *e = read_one();
        if (e == &end_of_input) break;
        print(eval(e, &nil));
        putchar('\n');
    }

    hw_stats stats = {.size = sizeof stats};
    hw_stats_get(heap, &stats);
    if (stats.barrier_violations != 0) return give_up("a store went around the barrier", "see above");
    if (hw_finalize_all(heap, &why)) return give_up("the end", why.text);
    close_dead(); /* ports that the program had to its end */
    if (hw_detach(m) || hw_heap_destroy(heap, &why)) return give_up("the end", why.text);
    return 0;
}
