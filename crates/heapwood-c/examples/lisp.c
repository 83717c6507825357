/* A small Lisp over a collected heap: integers, symbols, pairs, closures, tail calls, errors that are told. It is what
 * docs/guide/c.md explains in four steps. Local variables need no bookkeeping, since the collector scans the stack; what must
 * outlive every call hangs off one registered slot; stores into objects that are not new go through hw_write.
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
enum kind { NIL, NUMBER, SYMBOL, PAIR, CLOSURE, BUILTIN, FORM };
typedef struct object {
    enum kind kind;
} object;
struct number { object head; int64_t value; };
struct symbol { object head; object *value; char *name; }; /* the value is that of the global variable, or NULL */
struct pair { object head; object *first, *rest; };
struct closure { object head; object *parameters, *body, *env; };
struct builtin { object head; const char *name; object *(*call)(object *arguments); };

static object nil = {NIL}, end_of_input = {NIL};

static hw_heap *heap;
static hw_mutator *m; /* this thread's part in the heap */
static hw_type number_type, symbol_type, pair_type, closure_type;
static object *symbols = &nil; /* all of them, in a list: the one root beside the stack */

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

static void enter(void) {
    if (++depth > DEEPEST) fail("nested too deep");
}

/* A new object may be filled with plain stores until the next allocation or poll: the functions below do no more. */
static object *made(void *memory, enum kind kind) {
    if (memory == NULL) fail("%s", hw_last_error(m)->text);
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

/* The one symbol of a name. */
static object *symbol(const char *name) {
    for (object *at = symbols; at->kind == PAIR; at = rest(at))
        if (strcmp(((struct symbol *)first(at))->name, name) == 0) return first(at);
    size_t length = strlen(name) + 1;
    char *copy = hw_alloc_bytes(m, length);
    if (copy == NULL) fail("%s", hw_last_error(m)->text);
    memcpy(copy, name, length);
    object *o = made(hw_alloc(m, symbol_type), SYMBOL);
    ((struct symbol *)o)->name = copy;
    symbols = cons(o, symbols); /* a root slot: a plain store is right */
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

static object *define(object *name, object *value) {
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

static void print(object *o) {
    enter();
    switch (o->kind) {
    case NIL: printf("()"); break;
    case NUMBER: printf("%lld", (long long)((struct number *)o)->value); break;
    case SYMBOL: printf("%s", named(o)->name); break;
    case CLOSURE: printf("#<function>"); break;
    case BUILTIN:
    case FORM: printf("#<%s>", ((struct builtin *)o)->name); break;
    case PAIR:
        for (int shown = 0; o->kind == PAIR; o = rest(o), shown++) {
            printf(shown == 0 ? "(" : " ");
            if (shown == 1000) { /* It may be a ring. */
                printf("..");
                o = &nil;
                break;
            }
            print(first(o));
        }
        if (o->kind != NIL) printf(" . "), print(o);
        putchar(')');
    }
    depth--;
}

/* -------------------------------------------------------------------------------------------------------- reading -- */

static FILE *input;

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

static object *truth(bool is) { return is ? symbol("t") : &nil; }

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
static object *display(object *a) { return print(first(a)), putchar('\n'), &nil; }
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
};
static struct builtin *const forms[] = {&quote, &lambda, &when, &definition, &set, &begin};

static void define_builtins(void) {
    for (size_t i = 0; i < sizeof builtins / sizeof *builtins; i++) define(symbol(builtins[i].name), &builtins[i].head);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) define(symbol(forms[i]->name), &forms[i]->head);
    define(symbol("t"), symbol("t"));
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
    input = stdin;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verify") == 0) options.verify = 1;
        else if (strcmp(argv[i], "--limit") == 0 && i + 1 < argc) options.limit = strtoull(argv[++i], NULL, 10);
        else if ((input = fopen(argv[i], "r")) == NULL) return give_up(argv[i], strerror(errno));
    }
    if (options.limit != 0) options.min_heap = options.limit / 2;

    /* A heap, this thread in it, the types of its objects, and the slot that is a root. */
    uint64_t symbol_mask = HW_POINTER(struct symbol, value) | HW_POINTER(struct symbol, name);
    uint64_t pair_mask = HW_POINTER(struct pair, first) | HW_POINTER(struct pair, rest);
    uint64_t closure_mask = HW_POINTER(struct closure, parameters) | HW_POINTER(struct closure, body) |
                            HW_POINTER(struct closure, env);
    if (hw_heap_create(&options, &heap, &why) || hw_attach(heap, NULL, &m, &why) ||
        hw_type_no_pointers(heap, sizeof(struct number), &number_type, &why) ||
        hw_type_mask(heap, sizeof(struct symbol), &symbol_mask, 1, &symbol_type, &why) ||
        hw_type_mask(heap, sizeof(struct pair), &pair_mask, 1, &pair_type, &why) ||
        hw_type_mask(heap, sizeof(struct closure), &closure_mask, 1, &closure_type, &why) ||
        hw_root_slots(heap, &symbols, 1, &why) == 0)
        return give_up("no heap", why.text);

    if (setjmp(top) != 0) return give_up("the built-in functions", hw_last_error(m)->text);
    define_builtins();
    if (setjmp(top) != 0) wipe(); /* An error comes back to here, and the loop goes on behind what was read. */
    for (depth = 0;;) {
        object *e = read_one();
        if (e == &end_of_input) break;
        print(eval(e, &nil));
        putchar('\n');
    }

    hw_stats stats = {.size = sizeof stats};
    hw_stats_get(heap, &stats);
    if (stats.barrier_violations != 0) return give_up("a store went around the barrier", "see above");
    if (hw_detach(m) || hw_heap_destroy(heap, &why)) return give_up("the end", why.text);
    return 0;
}
