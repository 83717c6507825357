/* A virtual machine in the manner of Wren: classes, closures with upvalues, fibers, lists, maps, strings, and buffers outside the
 * heap, in NaN boxes. It shows what an interpreter needs of Heapwood: a tag for boxed pointers, objects with tails, stacks that take
 * plain stores, stores through the address of a slot, roots that a function names, and room that is asked for where an error can be
 * raised. Invariant: whatever a C variable holds over an allocation is on a fiber's stack, in `vm`, a compiler or a FRAME.
 *
 *     vm FILE [SIZE]
 *
 * The programs beside this file show the language. SIZE is the value of the variable `size`, 0 without it. */
#include "heap.h"
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdarg.h>

/* ----------------------------------------------------------------------------------------------------- objects -- */

enum kind { STRING, LIST, MAP, FUNCTION, CLOSURE, UPVALUE, CLASS, INSTANCE, FIBER, NATIVE, BUFFER, ARRAY, SLOTS, STACK, RAW, KINDS };

struct object { struct class *class; };
struct string { struct object head; uint32_t length, hash; char bytes[]; };
struct list { struct object head; value *items; size_t count, room; };
struct entry { value key, value; };
struct map { struct object head; struct entry *entries; size_t count, used, room; };
struct function {
    struct object head;
    uint8_t *code;
    value *constants;
    struct string *name;
    uint32_t arity, upvalues, slots, unused;
};
struct upvalue {
    struct object head;
    value closed;         /* once its variable is gone */
    value *stack;         /* while it is on this one */
    struct upvalue *next; /* of the open ones, by descending places */
    value *at;            /* where the variable is: closed, or in the stack */
};
struct closure { struct object head; struct function *function; struct upvalue *upvalues[]; };
struct class {
    struct object head;
    struct string *name;
    void **methods; /* by the numbers of names: closures and natives */
    uint32_t kind, room, fields, unused;
};
struct instance { struct object head; size_t fields; value values[]; };
struct call { uint32_t ip, base, closure, unused; };
struct fiber {
    struct object head;
    value *stack;
    struct call *calls;
    struct upvalue *open;
    struct fiber *caller;
    value error;
    volatile size_t *top;
    size_t own_top, room;
    uint32_t depth, calls_room;
    bool started, done, trying;
};
typedef bool native_fn(value *args, int count); /* the result is in args[0]; false: vm.error has an error */
struct native { struct object head; native_fn *fn; const char *name; int arity; };
struct buffer { struct object head; struct box *box; };
struct box { size_t n; double numbers[]; };

#define OBJECT(n) BIT(n, struct object, class)
static const struct shape shapes[KINDS] = {
    [STRING] = {"String", sizeof(struct string), OBJECT(10), 0, BYTES},
    [LIST] = {"List", sizeof(struct list), OBJECT(11) | BIT(12, struct list, items), 0, NONE},
    [MAP] = {"Map", sizeof(struct map), OBJECT(13) | BIT(14, struct map, entries), 0, NONE},
    [FUNCTION] = {"Function", sizeof(struct function),
                  OBJECT(15) | BIT(16, struct function, code) | BIT(17, struct function, constants) | BIT(18, struct function, name),
                  0, NONE},
    [CLOSURE] = {"Closure", sizeof(struct closure), OBJECT(19) | BIT(20, struct closure, function), 0, PLANT(21, POINTERS, WORDS)},
    [UPVALUE] = {"Upvalue", sizeof(struct upvalue),
                 OBJECT(22) | BIT(23, struct upvalue, stack) | BIT(24, struct upvalue, next), BIT(25, struct upvalue, closed), NONE},
    [CLASS] = {"Class", sizeof(struct class),
               OBJECT(26) | BIT(27, struct class, name) | BIT(28, struct class, methods), 0, NONE},
    [INSTANCE] = {"Instance", sizeof(struct instance), OBJECT(29), 0, PLANT(30, VALUES, WORDS)},
    [FIBER] = {"Fiber", sizeof(struct fiber),
               OBJECT(31) | BIT(32, struct fiber, stack) | BIT(33, struct fiber, calls) | BIT(34, struct fiber, open) |
                   BIT(35, struct fiber, caller),
               BIT(36, struct fiber, error), NONE},
    [NATIVE] = {"Native", sizeof(struct native), OBJECT(37), 0, NONE},
    [BUFFER] = {"Buffer", sizeof(struct buffer), OBJECT(38), 0, NONE},
    /* One type to the heap, since their slots are the same. */
    [ARRAY] = {"Values", 0, 0, 0, PLANT(39, VALUES, WORDS)},
    [SLOTS] = {"Values", 0, 0, 0, PLANT(40, POINTERS, WORDS)},
    [STACK] = {"Values", 0, 0, 0, VALUES},
    [RAW] = {"Raw", 0, 0, 0, BYTES},
};

/* The roots. All are pointers to objects, or boxed ones. */
static struct {
    struct fiber *fiber;              /* that runs */
    struct list *names, *globals;     /* of methods and of global variables; their values */
    struct list *global_names;
    struct string *no_room, *error;
    struct class *classes[ARRAY + 1]; /* of each kind, and at ARRAY of what is no object */
} vm;
static size_t live_boxes;

static enum kind kind_of(value v) {
    if (!is_object(v)) return KINDS;
    return (enum kind)((struct object *)to_object(v))->class->kind;
}

static struct class *class_of(value v) { return is_object(v) ? ((struct object *)to_object(v))->class : vm.classes[ARRAY]; }
static void *new_object(enum kind kind) {
    struct object *o = make(kind);
    o->class = vm.classes[kind];
    return o;
}

static struct string *new_string(const char *bytes, size_t n) {
    struct string *s = make_tail(STRING, n + 1);
    s->head.class = vm.classes[STRING];
    s->length = (uint32_t)n;
    s->hash = 2166136261u;
    if (bytes) memcpy(s->bytes, bytes, n);
    s->bytes[n] = 0;
    return s;
}
static void hash_string(struct string *s) {
    for (uint32_t i = 0; i < s->length; i++) s->hash = (s->hash ^ (uint8_t)s->bytes[i]) * 16777619u;
}
static struct string *text(const char *bytes, size_t n) {
    struct string *s = new_string(bytes, n);
    hash_string(s);
    return s;
}

static bool fail(const char *format, ...) {
    char line[160];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    vm.error = text(line, strlen(line));
    return false;
}
static bool no_room(void) { return vm.error = vm.no_room, false; }

static bool equal(value a, value b) {
    if (is_number(a) && is_number(b)) return to_number(a) == to_number(b);
    if (a == b) return true;
    if (kind_of(a) != STRING || kind_of(b) != STRING) return false;
    const struct string *s = to_object(a), *t = to_object(b);
    return s->hash == t->hash && s->length == t->length && memcmp(s->bytes, t->bytes, s->length) == 0;
}

/* -------------------------------------------------------------------------------------------- lists and maps -- */

static struct list *new_list(void) {
    struct list *l = new_object(LIST);
    l->items = NULL;
    l->count = l->room = 0;
    return l;
}

/* Something else leads to the list and the value. */
static bool list_add(struct list *l, value v) {
    assert(l->head.class->kind == LIST);
    if (l->count == l->room) {
        size_t more = l->room ? 2 * l->room : 4;
        if (!room(8 * more)) return no_room();
        value *items = make_tail(ARRAY, more);
        if (l->count) memcpy(items, l->items, l->count * sizeof *items);
        LINK(50, l, &l->items, items);
        l->room = more;
    }
    STORE(51, l->items, &l->items[l->count], v);
    l->count++;
    return true;
}
static void list_remove(struct list *l, size_t i) {
    COPY(52, l->items, &l->items[i], &l->items[i + 1], l->count - i - 1);
    l->count--;
    STORE(53, l->items, &l->items[l->count], NIL);
}
static void list_reverse(struct list *l) {
    if (l->count == 0) return;
    DIRTY(54, l->items);
    for (size_t i = 0, k = l->count - 1; i < k; i++, k--) {
        value v = l->items[i];
        l->items[i] = l->items[k];
        l->items[k] = v;
    }
}

static size_t hash(value v) {
    if (kind_of(v) == STRING) return ((struct string *)to_object(v))->hash;
    if (is_number(v)) v = of_number(to_number(v) + 0.0); /* -0 is 0 */
    return (v ^ v >> 32) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

/* The place of a key, or where it would be. */
static struct entry *find(struct entry *entries, size_t size, value key) {
    struct entry *gone = NULL;
    for (size_t i = hash(key);; i++) {
        struct entry *e = &entries[i & (size - 1)];
        if (e->key == EMPTY) return gone ? gone : e;
        if (e->key == GONE) gone = gone ? gone : e;
        else if (equal(e->key, key)) return e;
    }
}
static value *map_get(const struct map *map, value key) {
    struct entry *e = map->room ? find(map->entries, map->room, key) : NULL;
    return e == NULL || e->key == EMPTY || e->key == GONE ? NULL : &e->value;
}
static bool map_set(struct map *map, value key, value v) {
    if ((map->used + 1) * 4 > map->room * 3) {
        size_t more = map->count * 2 < map->room ? map->room : map->room ? 2 * map->room : 8;
        if (!room(16 * more)) return no_room();
        struct entry *entries = make_tail(ARRAY, 2 * more);
        for (size_t i = 0; i < more; i++) entries[i] = (struct entry){EMPTY, NIL};
        for (size_t i = 0; i < map->room; i++) {
            struct entry *e = &map->entries[i];
            if (e->key != EMPTY && e->key != GONE) *find(entries, more, e->key) = *e;
        }
        LINK(55, map, &map->entries, entries);
        map->room = more;
        map->used = map->count;
    }
    struct entry *e = find(map->entries, map->room, key);
    if (e->key == EMPTY) map->used++;
    if (e->key == EMPTY || e->key == GONE) {
        map->count++;
        INSIDE(56, &e->key, key);
    }
    INSIDE(57, &e->value, v);
    return true;
}
static bool map_remove(struct map *map, value key) {
    value *slot = map_get(map, key);
    if (slot == NULL) return false;
    struct entry *e = (struct entry *)(void *)(slot - 1);
    INSIDE(58, &e->key, GONE);
    INSIDE(59, &e->value, NIL);
    map->count--;
    return true;
}

/* ------------------------------------------------------------------------------------------- classes, fibers -- */

static size_t number_of(struct list *names, const char *name, size_t n) {
    for (size_t i = 0; i < names->count; i++) {
        const struct string *s = to_object(names->items[i]);
        if (s->length == n && memcmp(s->bytes, name, n) == 0) return i;
    }
    value local[1] = {of_object(text(name, n))};
    FRAME(60, local, 1);
    if (!list_add(names, local[0])) die("no room", "names");
    END_FRAME(60);
    return names->count - 1;
}
static size_t symbol(const char *name, size_t n) { return number_of(vm.names, name, n); }
static size_t global(const char *name, size_t n) {
    size_t i = number_of(vm.global_names, name, n);
    while (vm.globals->count <= i)
        if (!list_add(vm.globals, NIL)) die("no room", "globals");
    return i;
}

/* The class, the name and what it extends are on a stack or in `vm`. */
static void class_methods(struct class *class, size_t n) {
    if (n <= class->room) return;
    void **methods = make_tail(SLOTS, n);
    for (size_t i = 0; i < n; i++) methods[i] = i < class->room ? class->methods[i] : NULL;
    LINK(61, class, &class->methods, methods);
    class->room = (uint32_t)n;
}
static void add_method(struct class *class, size_t number, void *method) {
    value local[1] = {of_object(method)};
    FRAME(62, local, 1);
    class_methods(class, number + 1 > class->room ? number + 8 : class->room);
    END_FRAME(62);
    LINK(63, class->methods, &class->methods[number], method);
}
static void *method_of(const struct class *class, size_t number) { return number < class->room ? class->methods[number] : NULL; }

static bool push_call(struct fiber *f, size_t base, size_t closure, size_t slots) {
    assert(f->head.class->kind == FIBER);
    if (f->depth == f->calls_room) {
        uint32_t more = f->calls_room ? 2 * f->calls_room : 4;
        if (f->depth > 100000) return fail("too many calls");
        if (!room(more * sizeof(struct call))) return no_room();
        struct call *calls = make_tail(RAW, more * sizeof *calls);
        if (f->depth) memcpy(calls, f->calls, f->depth * sizeof *calls);
        LINK(64, f, &f->calls, calls);
        f->calls_room = more;
    }
    if (base + slots > f->room) {
        size_t more = 2 * f->room > base + slots ? 2 * f->room : base + slots, n = *f->top;
        if (!room(8 * more)) return no_room();
        value *stack = make_tail(STACK, more), *old = f->stack;
        memcpy(stack, old, n * sizeof *stack);
        for (struct upvalue *u = f->open; u; u = u->next) {
            u->at = stack + (u->at - old);
            LINK(67, u, &u->stack, stack);
        }
        plain_end(old);
        LINK(68, f, &f->stack, stack);
        if (!PLANT(66, plain_begin(stack, &f->top, &f->own_top), (f->top = &f->own_top, true))) return fail("too many fibers");
        *f->top = n;
        f->room = more;
    }
    f->calls[f->depth++] = (struct call){0, (uint32_t)base, (uint32_t)closure, 0};
    return true;
}

/* The closure is on a stack. A fiber's first call has it at 0, an argument, and it again. */
static struct fiber *new_fiber(struct closure *closure) {
    size_t slots = closure->function->slots;
    struct fiber *f = new_object(FIBER);
    f->error = NIL;
    value local[1] = {of_object(f)};
    FRAME(69, local, 1);
    value *stack = make_tail(STACK, slots);
    LINK(70, f, &f->stack, stack);
    f->room = slots;
    bool is_made = PLANT(71, plain_begin(stack, &f->top, &f->own_top), (f->top = &f->own_top, true));
    if (!is_made) fail("too many fibers");
    if (is_made) {
        uint32_t arity = closure->function->arity;
        stack[0] = stack[arity + 1] = of_object(closure);
        if (arity) stack[1] = NIL;
        *f->top = arity + 2;
        is_made = push_call(f, 0, arity + 1, slots);
    }
    END_FRAME(69);
    return is_made ? f : NULL;
}

/* The variable at a place of the running fiber's stack, for closures. */
static struct upvalue *capture(struct fiber *f, value *at) {
    struct upvalue *before = NULL, *u = f->open;
    for (; u && u->at > at; u = u->next) before = u;
    if (u && u->at == at) return u;
    struct upvalue *made = new_object(UPVALUE);
    made->closed = NIL;
    made->at = at;
    made->stack = f->stack;
    made->next = u;
    if (before) LINK(72, before, &before->next, made);
    else LINK(73, f, &f->open, made);
    return made;
}
static void close_from(struct fiber *f, const value *at) {
    for (struct upvalue *u; (u = f->open) != NULL && u->at >= at;) {
        STORE(74, u, &u->closed, *u->at);
        u->at = &u->closed;
        LINK(75, u, &u->stack, NULL);
        LINK(76, f, &f->open, u->next);
        LINK(77, u, &u->next, NULL);
    }
}
/* A fiber that has ended needs no stack. */
static void end_fiber(struct fiber *f) {
    close_from(f, f->stack);
    f->done = true;
    plain_end(f->stack);
    LINK(78, f, &f->stack, NULL);
    LINK(79, f, &f->calls, NULL);
    f->depth = 0;
}

/* ---------------------------------------------------------------------------------------------------- the text -- */

enum token { END, NAME, NUMBER, QUOTED, SIGN };
static struct {
    const char *at, *start;
    enum token token;
    int length, line;
    double number;
} lexer;

_Noreturn static void wrong(const char *what) {
    char text[128];
    snprintf(text, sizeof text, "line %d: '%.*s'", lexer.line, lexer.length > 40 ? 40 : lexer.length, lexer.start);
    die(text, what);
}
static void next(void) {
    const char *p = lexer.at;
    for (; isspace((unsigned char)*p) || *p == '#'; p++) {
        if (*p == '#') while (p[1] && p[1] != '\n') p++;
        if (*p == '\n') lexer.line++;
    }
    lexer.start = p;
    if (*p == 0) {
        lexer.token = END;
    } else if (isalpha((unsigned char)*p) || *p == '_') {
        lexer.token = NAME;
        while (isalnum((unsigned char)*p) || *p == '_') p++;
    } else if (isdigit((unsigned char)*p)) {
        char *end;
        lexer.token = NUMBER;
        lexer.number = strtod(p, &end);
        p = end;
    } else if (*p == '"') {
        lexer.token = QUOTED;
        for (p++; *p != '"'; p++)
            if (*p == 0) wrong("a string has no end");
        p++;
    } else {
        lexer.token = SIGN;
        p += (*p == '=' || *p == '!' || *p == '<' || *p == '>') && p[1] == '=' ? 2 : 1;
    }
    lexer.length = (int)(p - lexer.start);
    lexer.at = p;
}
static bool sees(const char *word) {
    return lexer.token != QUOTED && (size_t)lexer.length == strlen(word) && memcmp(lexer.start, word, (size_t)lexer.length) == 0;
}
static bool takes(const char *word) {
    bool is = lexer.token != END && sees(word);
    if (is) next();
    return is;
}
static void expect(const char *word) { if (!takes(word)) wrong(word); }

/* ------------------------------------------------------------------------------------------------- the compiler -- */

enum op {
    CONSTANT, NOTHING, YES, NO, POP, GET_LOCAL, SET_LOCAL, GET_UPVALUE, SET_UPVALUE, GET_GLOBAL, SET_GLOBAL, GET_FIELD,
    SET_FIELD, GET_OWN, CALL, INVOKE, NEW, MAKE_CLOSURE, MAKE_CLASS, METHOD, CLOSE, RETURN, JUMP, JUMP_IF_NOT, AND, OR, LOOP,
    ADD, SUBTRACT, MULTIPLY, DIVIDE, MODULO, LESS, GREATER, AT_MOST, AT_LEAST, EQUAL, UNEQUAL, NEGATE, NOT, MAKE_LIST, APPEND,
    MAKE_MAP, INDEX, SET_INDEX
};
enum { INIT }; /* the number of that name */
enum { MAX_LOCALS = 200, MAX_FIELDS = 32, MAX_CLASSES = 64 };

struct word { const char *start; int length; };
struct fields { struct word class, names[MAX_FIELDS]; int count; };
static struct fields classes[MAX_CLASSES];
static int class_count;

/* Of a function that is being compiled, on the C stack. The root function names what it has made so far. */
struct compiler {
    struct compiler *outer;
    struct list *constants;
    struct string *name;
    uint8_t *code;
    size_t length, room, ops;
    struct { struct word name; int depth; bool captured; } locals[MAX_LOCALS];
    struct { uint8_t index; bool is_local; } upvalues[MAX_LOCALS];
    int local_count, upvalue_count, depth;
    uint32_t arity;
    struct fields *fields; /* in methods, and functions in them */
};
static struct compiler *compiler;
static struct function *last_function; /* that has been compiled, until it is a constant */

static void name_compilers(void *arg, tracer *t) {
    (void)arg;
    for (struct compiler *c = compiler; c; c = c->outer) {
        VISIT(80, t, &c->constants);
        VISIT(81, t, &c->name);
    }
    VISIT(82, t, &last_function);
}

static void emit(unsigned byte) {
    struct compiler *c = compiler;
    if (c->length == c->room) {
        c->room = c->room ? 2 * c->room : 64;
        if ((c->code = realloc(c->code, c->room)) == NULL) die("no room", "code");
    }
    c->code[c->length++] = (uint8_t)byte;
}
static void emit_op(enum op op) { compiler->ops++; emit(op); }
static void emit_wide(enum op op, size_t n) {
    if (n > 0xffff) wrong("too many constants");
    emit_op(op);
    emit((unsigned)n >> 8);
    emit(n & 0xff);
}
static void emit_byte(enum op op, size_t n) {
    if (n > 0xff) wrong("too many of something");
    emit_op(op);
    emit((unsigned)n);
}
/* The value may be new: nothing else leads to it yet. */
static size_t constant(value v) {
    struct list *l = compiler->constants;
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i] == v || (kind_of(v) == STRING && equal(l->items[i], v))) return i;
    value local[1] = {v};
    FRAME(83, local, 1);
    if (!list_add(l, v)) die("no room", "constants");
    END_FRAME(83);
    return l->count - 1;
}
static size_t jump(enum op op) { emit_wide(op, 0); return compiler->length; }
static void land(size_t from) {
    size_t distance = compiler->length - from;
    if (distance > 0xffff) wrong("a jump is too long");
    compiler->code[from - 2] = (uint8_t)(distance >> 8);
    compiler->code[from - 1] = (uint8_t)distance;
}

static bool same(struct word a, struct word b) { return a.length == b.length && memcmp(a.start, b.start, (size_t)a.length) == 0; }
static struct word take_name(void) {
    struct word w = {lexer.start, lexer.length};
    if (lexer.token != NAME) wrong("a name belongs here");
    next();
    return w;
}
static void add_local(struct word name) {
    struct compiler *c = compiler;
    if (c->local_count == MAX_LOCALS) wrong("too many variables");
    c->locals[c->local_count].name = name;
    c->locals[c->local_count].depth = c->depth;
    c->locals[c->local_count++].captured = false;
}
static int local_of(struct compiler *c, struct word name) {
    for (int i = c->local_count - 1; i >= 0; i--)
        if (same(c->locals[i].name, name)) return i;
    return -1;
}
static int upvalue_of(struct compiler *c, struct word name) {
    if (c->outer == NULL) return -1;
    int index = local_of(c->outer, name);
    bool is_local = index >= 0;
    if (is_local) c->outer->locals[index].captured = true;
    else if ((index = upvalue_of(c->outer, name)) < 0) return -1;
    for (int i = 0; i < c->upvalue_count; i++)
        if (c->upvalues[i].index == index && c->upvalues[i].is_local == is_local) return i;
    if (c->upvalue_count == MAX_LOCALS) wrong("too many variables of outer functions");
    c->upvalues[c->upvalue_count].index = (uint8_t)index;
    c->upvalues[c->upvalue_count].is_local = is_local;
    return c->upvalue_count++;
}

static void expression(void);
static void statement(void);
static void block(void) {
    while (!sees("}")) statement();
    expect("}");
}
static void variable(struct word name, bool may_set) {
    int i = local_of(compiler, name), up = i < 0 ? upvalue_of(compiler, name) : -1;
    size_t g = i < 0 && up < 0 ? global(name.start, (size_t)name.length) : 0;
    if (may_set && takes("=")) {
        expression();
        if (i >= 0) emit_byte(SET_LOCAL, (size_t)i);
        else if (up >= 0) emit_byte(SET_UPVALUE, (size_t)up);
        else emit_wide(SET_GLOBAL, g);
    } else if (i >= 0) emit_byte(GET_LOCAL, (size_t)i);
    else if (up >= 0) emit_byte(GET_UPVALUE, (size_t)up);
    else emit_wide(GET_GLOBAL, g);
}

static void begin_function(struct compiler *c, struct word name, bool is_method) {
    memset(c, 0, offsetof(struct compiler, locals));
    c->local_count = c->upvalue_count = c->depth = 0;
    c->arity = 0;
    c->outer = compiler;
    c->fields = compiler ? compiler->fields : NULL;
    compiler = c;
    c->constants = new_list();
    c->name = text(name.start, (size_t)name.length);
    add_local(is_method ? (struct word){"this", 4} : (struct word){"", 0});
}
/* Its code becomes an object, and its closure code of the function around it. */
static void end_function(void) {
    struct compiler *c = compiler;
    emit_op(NOTHING);
    emit_op(RETURN);
    struct function *f = last_function = new_object(FUNCTION);
    f->arity = c->arity;
    f->upvalues = (uint32_t)c->upvalue_count;
    f->slots = (uint32_t)(c->ops + c->arity + 4);
    LINK(84, f, &f->name, c->name);
    uint8_t *code = memcpy(make_tail(RAW, c->length), c->code, c->length);
    LINK(85, f, &f->code, code);
    value *constants = make_tail(ARRAY, c->constants->count);
    if (c->constants->count) memcpy(constants, c->constants->items, c->constants->count * sizeof *constants);
    LINK(86, f, &f->constants, constants);
    free(c->code);
    compiler = c->outer;
    if (compiler == NULL) return;
    emit_wide(MAKE_CLOSURE, constant(of_object(f)));
    for (int i = 0; i < c->upvalue_count; i++) {
        emit(c->upvalues[i].is_local);
        emit(c->upvalues[i].index);
    }
}
static void function(struct word name, bool is_method) {
    struct compiler c;
    begin_function(&c, name, is_method);
    expect("(");
    while (!takes(")")) {
        add_local(take_name());
        c.arity++;
        if (!sees(")")) expect(",");
    }
    add_local((struct word){"", 0}); /* the closure */
    expect("{");
    c.depth = 1;
    block();
    if (is_method && same(name, (struct word){"init", 4})) {
        emit_byte(GET_LOCAL, 0);
        emit_op(RETURN);
    }
    end_function();
}

static size_t arguments(void) {
    size_t n = 0;
    while (!takes(")")) {
        expression();
        n++;
        if (!sees(")")) expect(",");
    }
    return n;
}
static size_t field(struct word name) {
    struct fields *f = compiler->fields;
    if (f == NULL) wrong("a field outside a class");
    for (int i = 0; i < f->count; i++)
        if (same(f->names[i], name)) return (size_t)i;
    if (f->count == MAX_FIELDS) wrong("too many fields");
    f->names[f->count] = name;
    return (size_t)f->count++;
}
static void primary(bool may_set) {
    struct word w = {lexer.start, lexer.length};
    if (lexer.token == NUMBER) {
        emit_wide(CONSTANT, constant(of_number(lexer.number)));
        next();
    } else if (lexer.token == QUOTED) {
        emit_wide(CONSTANT, constant(of_object(text(w.start + 1, (size_t)w.length - 2))));
        next();
    } else if (takes("(")) {
        expression();
        expect(")");
    } else if (takes("[")) {
        for (emit_op(MAKE_LIST); !takes("]"); emit_op(APPEND)) {
            expression();
            if (!sees("]")) expect(",");
        }
    } else if (takes("{")) {
        expect("}");
        emit_op(MAKE_MAP);
    } else if (takes("-")) {
        primary(false);
        emit_op(NEGATE);
        return;
    } else if (takes("!")) {
        primary(false);
        emit_op(NOT);
        return;
    } else if (takes("@")) {
        size_t i = field(take_name());
        bool own = local_of(compiler, (struct word){"this", 4}) == 0;
        if (may_set && takes("=")) {
            variable((struct word){"this", 4}, false);
            expression();
            emit_byte(SET_FIELD, i);
        } else if (own) {
            emit_byte(GET_OWN, i);
        } else {
            variable((struct word){"this", 4}, false);
            emit_byte(GET_FIELD, i);
        }
    } else if (takes("fn")) {
        function((struct word){"fn", 2}, false);
    } else if (takes("new")) {
        variable(take_name(), false);
        expect("(");
        size_t n = arguments();
        emit_byte(NEW, n);
    } else if (takes("nil")) emit_op(NOTHING);
    else if (takes("true")) emit_op(YES);
    else if (takes("false")) emit_op(NO);
    else variable(take_name(), may_set);
    for (;;) {
        if (takes("(")) {
            emit_byte(CALL, arguments());
        } else if (takes(".")) {
            struct word name = take_name();
            expect("(");
            size_t n = arguments(), number = symbol(name.start, (size_t)name.length);
            emit_wide(INVOKE, number);
            emit((unsigned)n);
        } else if (takes("[")) {
            expression();
            expect("]");
            if (may_set && takes("=")) {
                expression();
                emit_op(SET_INDEX);
            } else {
                emit_op(INDEX);
            }
        } else {
            return;
        }
    }
}
static const struct { const char *sign; int level; enum op op; } binary[] = {
    {"or", 1, OR}, {"and", 2, AND}, {"==", 3, EQUAL}, {"!=", 3, UNEQUAL}, {"<=", 4, AT_MOST}, {">=", 4, AT_LEAST}, {"<", 4, LESS},
    {">", 4, GREATER}, {"+", 5, ADD}, {"-", 5, SUBTRACT}, {"*", 6, MULTIPLY}, {"/", 6, DIVIDE}, {"%", 6, MODULO}};
enum { BINARY = sizeof binary / sizeof *binary };

static void level(int least) {
    primary(least == 1);
    for (;;) {
        int i = 0;
        while (i < BINARY && !(binary[i].level >= least && lexer.token != END && sees(binary[i].sign))) i++;
        if (i == BINARY) return;
        next();
        bool logic = binary[i].op == AND || binary[i].op == OR;
        size_t over = logic ? jump(binary[i].op) : 0;
        level(binary[i].level + 1);
        if (logic) land(over);
        else emit_op(binary[i].op);
    }
}
static void expression(void) { level(1); }

static void scope(void) {
    struct compiler *c = compiler;
    c->depth++;
    block();
    c->depth--;
    for (; c->local_count && c->locals[c->local_count - 1].depth > c->depth; c->local_count--)
        emit_op(c->locals[c->local_count - 1].captured ? CLOSE : POP);
}
static void class_statement(void) {
    struct word name = take_name();
    if (class_count == MAX_CLASSES || compiler->depth) wrong("a class too many, or inside of something");
    struct fields *f = &classes[class_count];
    if (takes("is")) {
        struct word parent = take_name();
        for (int i = 0; i < class_count; i++)
            if (same(classes[i].class, parent)) *f = classes[i];
        variable(parent, false);
    } else {
        emit_op(NOTHING);
    }
    f->class = name;
    class_count++;
    compiler->fields = f;
    emit_wide(MAKE_CLASS, constant(of_object(text(name.start, (size_t)name.length))));
    emit(0);
    size_t at = compiler->length;
    emit_wide(SET_GLOBAL, global(name.start, (size_t)name.length));
    expect("{");
    while (!takes("}")) {
        struct word method = take_name();
        function(method, true);
        emit_wide(METHOD, symbol(method.start, (size_t)method.length));
    }
    emit_op(POP);
    compiler->code[at - 1] = (uint8_t)f->count;
    compiler->fields = NULL;
}
static void statement(void) {
    if (takes("var")) {
        struct word name = take_name();
        expect("=");
        expression();
        expect(";");
        if (compiler->depth) {
            add_local(name);
        } else {
            emit_wide(SET_GLOBAL, global(name.start, (size_t)name.length));
            emit_op(POP);
        }
    } else if (takes("class")) {
        class_statement();
    } else if (takes("if")) {
        expect("(");
        expression();
        expect(")");
        size_t other = jump(JUMP_IF_NOT);
        expect("{");
        scope();
        size_t end = jump(JUMP);
        land(other);
        if (takes("else")) {
            if (sees("if")) {
                statement();
            } else {
                expect("{");
                scope();
            }
        }
        land(end);
    } else if (takes("while")) {
        size_t top = compiler->length;
        expect("(");
        expression();
        expect(")");
        size_t end = jump(JUMP_IF_NOT);
        expect("{");
        scope();
        emit_wide(LOOP, compiler->length + 3 - top);
        land(end);
    } else if (takes("return")) {
        if (sees(";")) emit_op(NOTHING);
        else expression();
        expect(";");
        emit_op(RETURN);
    } else {
        expression();
        expect(";");
        emit_op(POP);
    }
}

/* ------------------------------------------------------------------------------------------------ what is built in -- */

#define ARGUMENT(i, kind, what) \
    if (kind_of(args[i]) != (kind)) return fail("%s is wanted here", what)
#define NUMBER_AT(i) \
    if (!is_number(args[i])) return fail("a number is wanted here")

#define BUILT_IN(name) static bool name(value *args, __attribute__((__unused__)) int count)

static bool result(value *args, value v) { return args[0] = v, true; }

static void print_value(value v, int depth) {
    if (is_number(v)) {
        printf("%.14g", to_number(v));
        return;
    }
    const void *o = is_object(v) ? to_object(v) : NULL;
    switch (kind_of(v)) {
    case STRING: fputs(((const struct string *)o)->bytes, stdout); break;
    case LIST:
        putchar('[');
        for (size_t i = 0; i < ((const struct list *)o)->count; i++) {
            if (i) fputs(", ", stdout);
            if (depth < 8) print_value(((const struct list *)o)->items[i], depth + 1);
        }
        putchar(']');
        break;
    case INSTANCE: printf("a %s", ((const struct instance *)o)->head.class->name->bytes); break;
    case CLASS: fputs(((const struct class *)o)->name->bytes, stdout); break;
    case KINDS: fputs(v == NIL ? "nil" : v == TRUE ? "true" : "false", stdout); break;
    default: printf("a %s", shapes[kind_of(v)].name);
    }
}
BUILT_IN(print) {
    for (int i = 1; i <= count; i++) print_value(args[i], 0), putchar(i == count ? '\n' : ' ');
    return result(args, NIL);
}
BUILT_IN(floor_of) { NUMBER_AT(1); return result(args, of_number(floor(to_number(args[1])))); }
BUILT_IN(text_of) {
    char line[32];
    if (!is_number(args[1])) return result(args, args[1]);
    return result(args, of_object(text(line, (size_t)snprintf(line, sizeof line, "%.14g", to_number(args[1])))));
}

/* Boxes of dead buffers. */
static void release(void *data) {
    struct box *box = data;
    disown_outside(sizeof *box + box->n * sizeof(double));
    free(box);
    live_boxes--;
}
BUILT_IN(collect_all) {
    collect();
    free_dead(release);
    return result(args, NIL);
}
BUILT_IN(live) { return result(args, of_number((double)live_boxes)); }
BUILT_IN(new_buffer) {
    NUMBER_AT(1);
    size_t n = (size_t)to_number(args[1]), bytes = sizeof(struct box) + n * sizeof(double);
    if (!own_outside(bytes)) return no_room();
    struct buffer *b = new_object(BUFFER);
    struct box *box = calloc(1, bytes);
    if (box == NULL) return no_room();
    box->n = n;
    b->box = box;
    if (!finalize(b, box)) die("no room", "finalisers");
    live_boxes++;
    free_dead(release);
    return result(args, of_object(b));
}
static bool buffer_place(value *args, double **place) {
    NUMBER_AT(1);
    struct box *box = ((struct buffer *)to_object(args[0]))->box;
    double i = to_number(args[1]);
    if (!(i >= 0 && i < (double)box->n)) return fail("%.14g is no place of a buffer of %zu", i, box->n);
    return *place = &box->numbers[(size_t)i], true;
}
BUILT_IN(buffer_get) { double *place = NULL; return buffer_place(args, &place) && result(args, of_number(*place)); }
BUILT_IN(buffer_set) {
    double *place = NULL;
    NUMBER_AT(2);
    return buffer_place(args, &place) && (*place = to_number(args[2]), true);
}

BUILT_IN(length_of) {
    const void *o = to_object(args[0]);
    enum kind kind = kind_of(args[0]);
    size_t n = kind == STRING ? ((const struct string *)o)->length : kind == LIST ? ((const struct list *)o)->count
                                                                                  : ((const struct map *)o)->count;
    return result(args, of_number((double)n));
}
BUILT_IN(string_slice) {
    NUMBER_AT(1);
    NUMBER_AT(2);
    const struct string *s = to_object(args[0]);
    double from = to_number(args[1]), to = to_number(args[2]);
    if (!(from >= 0 && from <= to && to <= s->length)) return fail("no slice of a string of %u", s->length);
    if (!room(sizeof *s + (size_t)(to - from))) return no_room();
    return result(args, of_object(text(s->bytes + (size_t)from, (size_t)(to - from))));
}
BUILT_IN(string_split) {
    ARGUMENT(1, STRING, "a string");
    const struct string *s = to_object(args[0]), *by = to_object(args[1]);
    if (by->length == 0) return fail("nothing to split by");
    value local[2] = {of_object(new_list()), NIL};
    FRAME(87, local, 2);
    bool is_done = true;
    for (const char *at = s->bytes, *end; is_done && at; at = end ? end + by->length : NULL) {
        end = strstr(at, by->bytes);
        size_t n = end ? (size_t)(end - at) : strlen(at);
        if ((is_done = room(sizeof *s + n) || no_room()) == false) break;
        local[1] = of_object(text(at, n));
        is_done = list_add(to_object(local[0]), local[1]);
    }
    END_FRAME(87);
    return is_done && result(args, local[0]);
}
BUILT_IN(add) { return list_add(to_object(args[0]), args[1]); }
BUILT_IN(remove_at) {
    NUMBER_AT(1);
    struct list *l = to_object(args[0]);
    double i = to_number(args[1]);
    if (!(i >= 0 && i < (double)l->count)) return fail("%.14g is no place of a list of %zu", i, l->count);
    value v = l->items[(size_t)i];
    list_remove(l, (size_t)i);
    return result(args, v);
}
BUILT_IN(reverse) { return list_reverse(to_object(args[0])), true; }
BUILT_IN(has) { return result(args, of_bool(map_get(to_object(args[0]), args[1]) != NULL)); }
BUILT_IN(remove_key) { return result(args, of_bool(map_remove(to_object(args[0]), args[1]))); }
BUILT_IN(keys) {
    const struct map *map = to_object(args[0]);
    value local[1] = {of_object(new_list())};
    FRAME(88, local, 1);
    bool is_done = true;
    for (size_t i = 0; is_done && i < map->room; i++)
        if (map->entries[i].key != EMPTY && map->entries[i].key != GONE) is_done = list_add(to_object(local[0]), map->entries[i].key);
    END_FRAME(88);
    return is_done && result(args, local[0]);
}

BUILT_IN(fiber) {
    ARGUMENT(1, CLOSURE, "a function");
    struct fiber *f = new_fiber(to_object(args[1]));
    return f != NULL && result(args, of_object(f));
}
static bool resume(value *args, int count, bool trying) {
    struct fiber *f = to_object(args[0]);
    if (f->done || f == vm.fiber || f->caller) return fail("this fiber cannot be called");
    value v = count ? args[1] : NIL;
    /* The stack takes plain stores. */
    if (f->started) f->stack[*f->top - 1] = v;
    else if (*f->top > 2) f->stack[1] = v;
    f->started = true;
    f->trying = trying;
    LINK(89, f, &f->caller, vm.fiber);
    vm.fiber = f;
    return true;
}
BUILT_IN(call_fiber) { return resume(args, count, false); }
BUILT_IN(try_fiber) { return resume(args, count, true); }
BUILT_IN(yield) {
    struct fiber *f = vm.fiber, *to = f->caller;
    if (to == NULL) return fail("nobody has called this fiber");
    LINK(90, f, &f->caller, NULL);
    to->stack[*to->top - 1] = count ? args[1] : NIL;
    vm.fiber = to;
    return true;
}
BUILT_IN(is_done) { return result(args, of_bool(((struct fiber *)to_object(args[0]))->done)); }
BUILT_IN(error_of) { return result(args, ((struct fiber *)to_object(args[0]))->error); }
BUILT_IN(raise_error) { ARGUMENT(1, STRING, "a string"); return vm.error = to_object(args[1]), false; }

static struct native *new_native(const char *name, native_fn *fn, int arity) {
    struct native *n = new_object(NATIVE);
    n->fn = fn;
    n->name = name;
    n->arity = arity;
    return n;
}
static void define(const char *name, native_fn *fn, int arity) {
    size_t g = global(name, strlen(name));
    value *items = vm.globals->items;
    struct native *n = new_native(name, fn, arity);
    STORE(91, items, &items[g], of_object(n));
}
static void method(enum kind kind, const char *name, native_fn *fn, int arity) {
    size_t number = symbol(name, strlen(name));
    add_method(vm.classes[kind], number, new_native(name, fn, arity));
}
static struct class *new_class(enum kind kind) {
    struct class *c = new_object(CLASS);
    c->kind = kind;
    return c;
}
static void begin(void) {
    for (int kind = 0; kind <= ARRAY; kind++) vm.classes[kind] = new_class((enum kind)kind);
    for (int kind = 0; kind <= ARRAY; kind++) {
        struct class *c = vm.classes[kind];
        LINK(92, c, &c->head.class, vm.classes[CLASS]);
        struct string *name = text(shapes[kind].name, strlen(shapes[kind].name));
        LINK(93, c, &c->name, name);
    }
    vm.names = new_list();
    vm.globals = new_list();
    vm.global_names = new_list();
    if (symbol("init", 4) != INIT) die("init", "it has another number");
    vm.no_room = text("there is no room", 16);
    define("print", print, -1), define("floor", floor_of, 1), define("text", text_of, 1), define("collect", collect_all, 0);
    define("live", live, 0), define("buffer", new_buffer, 1), define("fiber", fiber, 1), define("yield", yield, -1);
    define("raise", raise_error, 1);
    method(STRING, "length", length_of, 0), method(STRING, "slice", string_slice, 2), method(STRING, "split", string_split, 1);
    method(LIST, "length", length_of, 0), method(LIST, "add", add, 1), method(LIST, "remove", remove_at, 1);
    method(LIST, "reverse", reverse, 0), method(MAP, "length", length_of, 0), method(MAP, "has", has, 1);
    method(MAP, "remove", remove_key, 1), method(MAP, "keys", keys, 0), method(FIBER, "call", call_fiber, -1);
    method(FIBER, "try", try_fiber, -1), method(FIBER, "done", is_done, 0), method(FIBER, "error", error_of, 0);
    method(BUFFER, "get", buffer_get, 1), method(BUFFER, "set", buffer_set, 2);
}

/* --------------------------------------------------------------------------------------------- the interpreter -- */

static bool is_false(value v) { return v == NIL || v == FALSE; }
static bool index_of(const struct list *l, value v, size_t *i) {
    double d = is_number(v) ? to_number(v) : -1;
    return d >= 0 && d < (double)l->count && (*i = (size_t)d, true);
}

/* Where a collection may come the fiber has the place in the code, and the top of its stack covers what is in use. */
#define SYNC() (f->calls[f->depth - 1].ip = (uint32_t)(ip - code), *f->top = (size_t)(sp - f->stack))
#define LOAD()                                                           \
    do {                                                                 \
        f = vm.fiber;                                                    \
        const struct call *c = &f->calls[f->depth - 1];                  \
        base = f->stack + c->base;                                       \
        closure = to_object(f->stack[c->closure]);                       \
        code = closure->function->code;                                  \
        constants = closure->function->constants;                        \
        ip = code + c->ip;                                               \
    } while (0)
#define LOAD_ALL() \
    do {           \
        LOAD();    \
        sp = f->stack + *f->top; \
    } while (0)
#define FAIL(...)          \
    do {                   \
        SYNC();            \
        fail(__VA_ARGS__); \
        goto failed;       \
    } while (0)
#define ROOM(bytes)                       \
    do {                                  \
        PLANT(108, (void)SYNC(), (void)0); \
        if (!room(bytes)) {           \
            no_room();                \
            goto failed;              \
        }                             \
    } while (0)
#define ARITHMETIC(name, expression)                                          \
    {                                                                         \
        if (!is_number(sp[-1]) || !is_number(sp[-2])) FAIL("%s wants numbers", name); \
        double a = to_number(sp[-2]), b = to_number(sp[-1]);                  \
        sp--;                                                                 \
        sp[-1] = expression;                                                  \
        break;                                                                \
    }

static bool run(void) {
    struct fiber *f;
    struct closure *closure;
    value *base, *sp, *constants, v;
    const uint8_t *code, *ip;
    unsigned n;
    void *callee;
    LOAD_ALL();
    for (;;) {
        switch ((enum op)*ip++) {
        case CONSTANT: *sp++ = constants[ip[0] << 8 | ip[1]], ip += 2; break;
        case NOTHING: *sp++ = NIL; break;
        case YES: *sp++ = TRUE; break;
        case NO: *sp++ = FALSE; break;
        case POP: sp--; break;
        case GET_LOCAL: *sp++ = base[*ip++]; break;
        case SET_LOCAL: base[*ip++] = sp[-1]; break;
        case GET_UPVALUE: *sp++ = *closure->upvalues[*ip++]->at; break;
        case SET_UPVALUE: {
            struct upvalue *u = closure->upvalues[*ip++];
            INSIDE(94, u->at, sp[-1]);
            break;
        }
        case GET_GLOBAL: *sp++ = vm.globals->items[ip[0] << 8 | ip[1]], ip += 2; break;
        case SET_GLOBAL: {
            value *items = vm.globals->items;
            STORE(95, items, &items[ip[0] << 8 | ip[1]], sp[-1]);
            ip += 2;
            break;
        }
        case GET_OWN: {
            const struct instance *o = to_object(base[0]);
            n = *ip++;
            *sp++ = n < o->fields ? o->values[n] : NIL;
            break;
        }
        case GET_FIELD: {
            const struct instance *o = to_object(sp[-1]);
            n = *ip++;
            sp[-1] = n < o->fields ? o->values[n] : NIL;
            break;
        }
        case SET_FIELD: {
            struct instance *o = to_object(sp[-2]);
            n = *ip++;
            if (n >= o->fields) FAIL("an object that has no such field");
            STORE(96, o, &o->values[n], sp[-1]);
            sp[-2] = sp[-1];
            sp--;
            break;
        }
        case CALL:
            n = *ip++;
            v = sp[-1 - (int)n];
            if (!is_object(v)) FAIL("this cannot be called");
            callee = to_object(v);
        call:
            if (((struct object *)callee)->class->kind == CLOSURE) {
                const struct function *fn = ((struct closure *)callee)->function;
                if (fn->arity != n) FAIL("%s takes %u arguments, not %u", fn->name->bytes, fn->arity, n);
                SYNC();
                size_t at = (size_t)(sp - f->stack);
                if (!push_call(f, at - n - 1, at, fn->slots)) goto failed;
                f->stack[at] = of_object(callee);
                LOAD();
                sp = f->stack + at + 1;
            } else if (((struct object *)callee)->class->kind == NATIVE) {
                const struct native *native = callee;
                value *args = sp - n - 1;
                if (native->arity >= 0 && (unsigned)native->arity != n) FAIL("%s takes %d arguments, not %u", native->name, native->arity, n);
                ROOM(256);
                if (!native->fn(args, (int)n)) goto failed;
                sp = args + 1;
                if (vm.fiber == f) break;
                *f->top = (size_t)(sp - f->stack);
                LOAD_ALL();
            } else {
                FAIL("this cannot be called");
            }
            break;
        case INVOKE: {
            size_t number = (size_t)(ip[0] << 8 | ip[1]);
            n = ip[2];
            ip += 3;
            const struct class *class = class_of(sp[-1 - (int)n]);
            callee = method_of(class, number);
            if (callee == NULL) FAIL("a %s has no '%s'", class->name->bytes, ((struct string *)to_object(vm.names->items[number]))->bytes);
            goto call;
        }
        case NEW: {
            n = *ip++;
            if (kind_of(sp[-1 - (int)n]) != CLASS) FAIL("this is no class");
            ROOM(sizeof(struct instance) + MAX_FIELDS * sizeof(value));
            struct class *class = to_object(sp[-1 - (int)n]);
            struct instance *o = make_tail(INSTANCE, class->fields);
            o->head.class = class;
            o->fields = class->fields;
            for (unsigned i = 0; i < class->fields; i++) o->values[i] = NIL;
            sp[-1 - (int)n] = of_object(o);
            callee = method_of(class, INIT);
            if (callee) goto call;
            sp -= n;
            break;
        }
        case MAKE_CLOSURE: {
            struct function *fn = to_object(constants[ip[0] << 8 | ip[1]]);
            ip += 2;
            ROOM(sizeof(struct closure) + fn->upvalues * (sizeof(struct upvalue) + 16));
            struct closure *c = make_tail(CLOSURE, fn->upvalues);
            c->head.class = vm.classes[CLOSURE];
            c->function = fn;
            *sp++ = of_object(c);
            PLANT(106, (void)SYNC(), (void)0);
            for (uint32_t i = 0; i < fn->upvalues; i++, ip += 2) {
                struct upvalue *u = ip[0] ? capture(f, base + ip[1]) : closure->upvalues[ip[1]];
                LINK(97, c, &c->upvalues[i], u);
            }
            break;
        }
        case MAKE_CLASS: {
            ROOM(4096);
            v = sp[-1];
            if (v != NIL && kind_of(v) != CLASS) FAIL("what a class extends is no class");
            struct class *class = new_class(INSTANCE);
            LINK(98, class, &class->name, to_object(constants[ip[0] << 8 | ip[1]]));
            class->fields = ip[2];
            ip += 3;
            *sp++ = of_object(class);
            PLANT(107, (void)SYNC(), (void)0);
            if (v != NIL) {
                const struct class *above = to_object(v);
                class_methods(class, above->room);
                COPY(99, class->methods, class->methods, above->methods, above->room);
            }
            sp[-2] = sp[-1];
            sp--;
            break;
        }
        case METHOD: {
            ROOM(4096);
            size_t number = (size_t)(ip[0] << 8 | ip[1]);
            ip += 2;
            add_method(to_object(sp[-2]), number, to_object(sp[-1]));
            sp--;
            break;
        }
        case CLOSE:
            close_from(f, sp - 1);
            sp--;
            break;
        case RETURN:
            v = sp[-1];
            if (f->open) close_from(f, base);
            if (--f->depth) {
                sp = base;
                *sp++ = v;
                LOAD();
                break;
            }
            vm.fiber = f->caller;
            LINK(101, f, &f->caller, NULL);
            end_fiber(f);
            if (vm.fiber == NULL) return true;
            LOAD_ALL();
            sp[-1] = v;
            break;
        case JUMP: ip += 2 + (ip[0] << 8 | ip[1]); break;
        case JUMP_IF_NOT: ip += is_false(*--sp) ? 2 + (ip[0] << 8 | ip[1]) : 2; break;
        case AND:
            if (is_false(sp[-1])) ip += 2 + (ip[0] << 8 | ip[1]);
            else ip += 2, sp--;
            break;
        case OR:
            if (!is_false(sp[-1])) ip += 2 + (ip[0] << 8 | ip[1]);
            else ip += 2, sp--;
            break;
        case LOOP:
            ip -= (ip[0] << 8 | ip[1]) - 2;
            if (IS_POLLED()) {
                SYNC();
                POLL();
            }
            break;
        case ADD:
            if (kind_of(sp[-1]) == STRING && kind_of(sp[-2]) == STRING) {
                const struct string *a = to_object(sp[-2]), *b = to_object(sp[-1]);
                ROOM(sizeof *a + a->length + b->length + 1);
                struct string *s = new_string(NULL, (size_t)a->length + b->length);
                memcpy(s->bytes, a->bytes, a->length);
                memcpy(s->bytes + a->length, b->bytes, b->length);
                hash_string(s);
                sp--;
                sp[-1] = of_object(s);
                break;
            }
            ARITHMETIC("+", of_number(a + b))
        case SUBTRACT: ARITHMETIC("-", of_number(a - b))
        case MULTIPLY: ARITHMETIC("*", of_number(a * b))
        case DIVIDE: ARITHMETIC("/", of_number(b == 0 ? 0 : a / b))
        case MODULO: ARITHMETIC("%", of_number(b == 0 ? 0 : fmod(a, b)))
        case LESS: ARITHMETIC("<", of_bool(a < b))
        case GREATER: ARITHMETIC(">", of_bool(a > b))
        case AT_MOST: ARITHMETIC("<=", of_bool(a <= b))
        case AT_LEAST: ARITHMETIC(">=", of_bool(a >= b))
        case EQUAL: sp--, sp[-1] = of_bool(equal(sp[-1], sp[0])); break;
        case UNEQUAL: sp--, sp[-1] = of_bool(!equal(sp[-1], sp[0])); break;
        case NEGATE:
            if (!is_number(sp[-1])) FAIL("- wants a number");
            sp[-1] = of_number(-to_number(sp[-1]));
            break;
        case NOT: sp[-1] = of_bool(is_false(sp[-1])); break;
        case MAKE_LIST:
            ROOM(sizeof(struct list));
            v = of_object(new_list());
            *sp++ = v;
            break;
        case APPEND:
            SYNC();
            if (!list_add(to_object(sp[-2]), sp[-1])) goto failed;
            sp--;
            break;
        case MAKE_MAP:
            ROOM(sizeof(struct map));
            v = of_object(new_object(MAP));
            *sp++ = v;
            break;
        case INDEX: {
            size_t i;
            const void *o = is_object(sp[-2]) ? to_object(sp[-2]) : NULL;
            if (kind_of(sp[-2]) == MAP) {
                const value *slot = map_get(o, sp[-1]);
                sp[-2] = slot ? *slot : NIL;
            } else if (kind_of(sp[-2]) == LIST) {
                if (!index_of(o, sp[-1], &i)) FAIL("no such place in a list of %zu", ((const struct list *)o)->count);
                sp[-2] = ((const struct list *)o)->items[i];
            } else {
                FAIL("this has no places");
            }
            sp--;
            break;
        }
        case SET_INDEX: {
            size_t i;
            if (kind_of(sp[-3]) == MAP) {
                SYNC();
                if (!map_set(to_object(sp[-3]), sp[-2], sp[-1])) goto failed;
            } else if (kind_of(sp[-3]) == LIST) {
                struct list *l = to_object(sp[-3]);
                if (!index_of(l, sp[-2], &i)) FAIL("no such place in a list of %zu", l->count);
                STORE(102, l->items, &l->items[i], sp[-1]);
            } else {
                FAIL("this has no places");
            }
            sp[-3] = sp[-1];
            sp -= 2;
            break;
        }
        }
        continue;
    failed:
        for (f = vm.fiber;; f = vm.fiber) {
            struct fiber *to = f->caller;
            STORE(103, f, &f->error, of_object(vm.error));
            LINK(104, f, &f->caller, NULL);
            end_fiber(f);
            if (to == NULL) return false;
            vm.fiber = to;
            if (!f->trying) continue;
            v = f->error;
            LOAD_ALL();
            sp[-1] = v;
            vm.error = NULL;
            break;
        }
    }
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 || argc == 3 ? fopen(argv[1], "rb") : NULL;
    size_t room = 1 << 16, n = 0;
    char *source = malloc(room);
    if (file == NULL || source == NULL) die("usage", "vm FILE [SIZE]");
    for (size_t more; (more = fread(source + n, 1, room - n - 1, file)) > 0; n += more)
        if (n + more + 1 == room && (source = realloc(source, room *= 2)) == NULL) die("no room", "the program");
    source[n] = 0;
    fclose(file);
    heap_begin(shapes, KINDS, &vm, sizeof vm / sizeof(void *), name_compilers);
    struct compiler c;
    begin();
    lexer.at = source;
    lexer.line = 1;
    next();
    size_t size = global("size", 4);
    vm.globals->items[size] = of_number(argc == 3 ? strtod(argv[2], NULL) : 0);
    begin_function(&c, (struct word){"main", 4}, false);
    add_local((struct word){"", 0});
    while (lexer.token != END) statement();
    end_function();
    struct closure *closure = make_tail(CLOSURE, 0);
    closure->head.class = vm.classes[CLOSURE];
    closure->function = last_function;
    value local[1] = {of_object(closure)};
    FRAME(105, local, 1);
    vm.fiber = new_fiber(closure);
    END_FRAME(105);
    last_function = NULL;
    bool is_right = vm.fiber != NULL && run();
    if (!is_right) printf("error: %s\n", vm.error->bytes);
    memset(&vm, 0, sizeof vm);
    heap_end(release);
    free(source);
#ifndef LIBGC
    if (live_boxes) die("the end", "boxes are left");
#endif
    return is_right ? 0 : 1;
}
