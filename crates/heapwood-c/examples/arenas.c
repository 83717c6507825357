/* A calculator whose syntax trees live in an arena: a line is read into a tree, worked out, and forgotten, all at once. Names and what
 * they stand for outlive their lines, so they are objects of the heap, and trees point to them. A line that defines a function is
 * not forgotten: its arena is left to the collector, which frees it when the name stands for something else.
 *
 *     arenas [--verify] [FILE]
 *
 * docs/guide/c.md explains it. */
#include <ctype.h>
#include <heapwood.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUMBER, NAME, CALL, BINARY };

/* What begins every node of a tree. */
struct node {
    enum kind kind;
    char operator; /* of a binary one */
};

struct name;
struct number { struct node head; double value; };
struct use { struct node head; struct name *name; };                           /* of a name, which lives in the heap */
struct call { struct node head; struct name *name; struct node **arguments; size_t count; };
struct binary { struct node head; struct node *left, *right; };

/* A name of the heap. A function's body is a tree in an arena that was left. */
struct name {
    struct name *next;
    char *text;
    double value;
    struct node *body;
    struct name **parameters;
    size_t count;
};

static hw_heap *heap;
static hw_mutator *m;
static hw_arena *line; /* what the current line is made of */
static hw_type use_type, call_type, binary_type, name_type, pointer_type;
static struct name *names; /* all of them: a registered root */
static const char *at;
static jmp_buf next_line;

static void fail(const char *why) {
    printf("error: %s\n", why);
    longjmp(next_line, 1);
}

/* --------------------------------------------------------------------------------------------------------------- trees -- */

/* A new node may be filled with plain stores until the next allocation. */
static struct node *made(void *memory, enum kind kind) {
    if (memory == NULL) fail(hw_last_error(m)->text);
    struct node *n = memory;
    n->kind = kind;
    return n;
}

static struct node *binary(char operator, struct node *left, struct node *right) {
    struct binary *b = (struct binary *)made(hw_arena_alloc(line, binary_type, 1), BINARY);
    b->head.operator = operator;
    b->left = left;
    b->right = right;
    return &b->head;
}

/* A number has no pointers: bytes, which lie apart from the nodes that have some. */
static struct node *number(double value) {
    struct number *n = (struct number *)made(hw_arena_alloc_bytes(line, sizeof *n), NUMBER);
    n->value = value;
    return &n->head;
}

/* The name of this text; what is new goes to the heap, and so does its text. */
static struct name *name(const char *text, size_t length) {
    for (struct name *n = names; n != NULL; n = n->next) {
        if (strlen(n->text) == length && memcmp(n->text, text, length) == 0) return n;
    }
    char *copy = hw_alloc_bytes(m, length + 1);
    struct name *n = copy == NULL ? NULL : hw_alloc(m, name_type);
    if (n == NULL) fail(hw_last_error(m)->text);
    memcpy(copy, text, length);
    copy[length] = 0;
    n->text = copy;
    n->next = names;
    return names = n;
}

/* ------------------------------------------------------------------------------------------------------------- reading -- */

static struct node *sum(int depth);

static char peek(void) {
    while (*at == ' ') at++;
    return *at;
}

static struct name *read_name(void) {
    const char *begin = at;
    while (isalnum((unsigned char)*at)) at++;
    return name(begin, (size_t)(at - begin));
}

static struct node *factor(int depth) {
    if (depth > 100) fail("nested too deep");
    if (isdigit((unsigned char)peek())) {
        char *end;
        double value = strtod(at, &end);
        at = end;
        return number(value);
    }
    if (*at == '(') {
        at++;
        struct node *inner = sum(depth + 1);
        if (peek() != ')') fail("a parenthesis is open");
        at++;
        return inner;
    }
    if (!isalpha((unsigned char)*at)) fail("a number or a name is missing");
    struct name *called = read_name();
    if (peek() != '(') {
        struct use *use = (struct use *)made(hw_arena_alloc(line, use_type, 1), NAME);
        use->name = called;
        return &use->head;
    }
    struct node *arguments[8];
    size_t count = 0;
    do {
        at++;
        if (count == 8) fail("more than 8 arguments");
        arguments[count++] = sum(depth + 1);
    } while (peek() == ',');
    if (peek() != ')') fail("a parenthesis is open");
    at++;
    /* An array is a value of its own. The call is not new any more when that has been allocated, so it comes last. */
    struct node **array = hw_arena_alloc(line, pointer_type, count);
    if (array == NULL) fail(hw_last_error(m)->text);
    memcpy(array, arguments, count * sizeof *array);
    struct call *call = (struct call *)made(hw_arena_alloc(line, call_type, 1), CALL);
    call->name = called;
    call->arguments = array;
    call->count = count;
    return &call->head;
}

static struct node *product(int depth) {
    struct node *left = factor(depth);
    while (peek() == '*' || *at == '/') {
        char operator = *at++;
        left = binary(operator, left, factor(depth));
    }
    return left;
}

static struct node *sum(int depth) {
    struct node *left = product(depth);
    while (peek() == '+' || *at == '-') {
        char operator = *at++;
        left = binary(operator, left, product(depth));
    }
    return left;
}

/* --------------------------------------------------------------------------------------------------------- working out -- */

static const char *trouble; /* why a tree has no value; no jump, which would leave parameters as they are */

static double work_out(const struct node *n, int depth) {
    if (depth > 1000) trouble = "called too deep";
    if (trouble != NULL) return 0;
    switch (n->kind) {
    case NUMBER: return ((const struct number *)n)->value;
    case NAME: return ((const struct use *)n)->name->value;
    case CALL: {
        const struct call *call = (const struct call *)n;
        struct name *f = call->name;
        double values[8], saved[8];
        if (f->body == NULL || f->count != call->count) {
            trouble = "no function of so many arguments";
            return 0;
        }
        for (size_t i = 0; i < f->count; i++) values[i] = work_out(call->arguments[i], depth + 1);
        /* Parameters are names, whose values come back. */
        for (size_t i = 0; i < f->count; i++) saved[i] = f->parameters[i]->value, f->parameters[i]->value = values[i];
        double result = work_out(f->body, depth + 1);
        for (size_t i = 0; i < f->count; i++) f->parameters[i]->value = saved[i];
        return result;
    }
    case BINARY: break;
    }
    const struct binary *b = (const struct binary *)n;
    double left = work_out(b->left, depth + 1), right = work_out(b->right, depth + 1);
    switch (n->operator) {
    case '+': return left + right;
    case '-': return left - right;
    case '*': return left * right;
    default: return left / right;
    }
}

static double value_of(const struct node *tree) {
    trouble = NULL;
    double value = work_out(tree, 0);
    if (trouble != NULL) fail(trouble);
    return value;
}

static void open_line(void) {
    if (hw_arena_new(m, HW_ARENA_RECYCLE, &line)) {
        fprintf(stderr, "arenas: %s\n", hw_last_error(m)->text);
        exit(1);
    }
}

/* name = expression: the tree is needed no more. */
static void assign(struct name *n, const struct node *tree) { n->value = value_of(tree); }

/* name(parameters) = expression: the name keeps the tree, and with it the line's arena. */
static void define(const struct call *head, struct node *tree) {
    struct name *f = head->name;
    struct name **parameters = hw_arena_alloc(line, pointer_type, head->count);
    if (parameters == NULL) fail(hw_last_error(m)->text);
    for (size_t i = 0; i < head->count; i++) {
        if (head->arguments[i]->kind != NAME) fail("a parameter is no name");
        hw_write(m, parameters, &parameters[i], ((const struct use *)head->arguments[i])->name);
    }
    hw_write(m, f, &f->parameters, parameters);
    hw_write(m, f, &f->body, tree);
    f->count = head->count;
    hw_arena_leave(line);
    open_line();
}

static void do_line(const char *text) {
    at = text;
    if (peek() == 0 || *at == '#') return;
    struct node *tree = sum(0);
    if (peek() == '=') {
        at++;
        struct node *right = sum(0);
        if (peek() != 0) fail("the line goes on");
        if (tree->kind == NAME) {
            assign(((struct use *)tree)->name, right);
        } else if (tree->kind == CALL) {
            define((struct call *)tree, right);
        } else {
            fail("only names have values");
        }
    } else if (*at == 0) {
        printf("%g\n", value_of(tree));
    } else {
        fail("the line goes on");
    }
}

/* -------------------------------------------------------------------------------------------------------------- the rest -- */

static void do_lines(FILE *file) {
    char text[4096];
    open_line();
    while (fgets(text, sizeof text, file) != NULL) {
        text[strcspn(text, "\n")] = 0;
        /* An error leaves the functions it is in, and the tree is half made: it goes like any other. */
        if (setjmp(next_line) == 0) do_line(text);
        hw_arena_reset(line);
    }
    hw_arena_free(line);
}

int main(int argc, char **argv) {
    hw_options options;
    hw_error why;
    FILE *file = stdin;
    hw_options_init(&options);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verify") == 0) {
            options.verify = 1;
        } else if ((file = fopen(argv[i], "r")) == NULL) {
            perror(argv[i]);
            return 1;
        }
    }
    uint64_t use = HW_POINTER(struct use, name), pointer = 1;
    uint64_t call = HW_POINTER(struct call, name) | HW_POINTER(struct call, arguments);
    uint64_t two = HW_POINTER(struct binary, left) | HW_POINTER(struct binary, right);
    uint64_t named = HW_POINTER(struct name, next) | HW_POINTER(struct name, text) | HW_POINTER(struct name, body) |
                     HW_POINTER(struct name, parameters);
    if (hw_heap_create(&options, &heap, &why) || hw_attach(heap, NULL, &m, &why) ||
        hw_type_mask(heap, sizeof(struct use), &use, 1, &use_type, &why) ||
        hw_type_mask(heap, sizeof(struct call), &call, 1, &call_type, &why) ||
        hw_type_mask(heap, sizeof(struct binary), &two, 1, &binary_type, &why) ||
        hw_type_mask(heap, sizeof(struct name), &named, 1, &name_type, &why) ||
        hw_type_mask(heap, sizeof(void *), &pointer, 1, &pointer_type, &why) ||
        hw_root_slots(heap, &names, 1, &why) == 0) {
        fprintf(stderr, "arenas: %s\n", why.text);
        return 1;
    }
    do_lines(file);
    hw_stats stats = {.size = sizeof stats};
    hw_collect(m);
    hw_stats_get(heap, &stats);
    fprintf(stderr, "%d arenas, %d bytes in those of functions\n", (int)stats.arenas, (int)stats.arena_bytes);
    hw_detach(m);
    return hw_heap_destroy(heap, NULL) != HW_OK;
}
