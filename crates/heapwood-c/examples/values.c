/* Boxed values without a tag: a word is a pointer as it is, a double moved by 2^48, a small integer, or NULL. So masks, arrays and
 * scanned stacks see every pointer. Objects are tuples of any length, and strings whose class no collection reads. */
#include <heapwood.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t value;

/* A double d is d's bits plus 2^48: from 0x0001.. up to 0xfff9.. . An integer i is 0xfffe << 48 | i. Pointers are below 2^47. */
#define MOVED ((value)1 << 48)
#define INTEGER ((value)0xfffe << 48)

static value of_double(double d) {
    value v;
    if (d != d) d = __builtin_nan(""); /* one NaN of many */
    memcpy(&v, &d, sizeof v);
    return v + MOVED;
}
static double to_double(value v) {
    double d;
    v -= MOVED;
    memcpy(&d, &v, sizeof d);
    return d;
}
static value of_integer(int32_t i) { return INTEGER | (uint32_t)i; }
static value of_object(void *object) { return (value)(uintptr_t)object; }
static void *to_object(value v) { return (void *)(uintptr_t)v; }
static bool is_object(value v) { return v != 0 && v < MOVED; }
static bool is_integer(value v) { return v >= INTEGER; }

struct class { const char *name; };
static const struct class string_class = {"string"}, tuple_class = {"tuple"};

/* The class is an ordinary variable here. Were it an object, a root would lead to it, and no mask need name it. */
struct tuple { const struct class *class; size_t length; value values[]; };
struct string { const struct class *class; size_t length; char bytes[]; };

static hw_mutator *m;
static hw_tail tuples;

static struct tuple *new_tuple(size_t length) {
    struct tuple *t = hw_alloc_tail(m, &tuples, length);
    if (t == NULL) return NULL;
    t->class = &tuple_class;
    t->length = length;
    return t; /* its values are 0, which is nil */
}

static struct string *new_string(const char *bytes) {
    size_t length = strlen(bytes);
    struct string *s = hw_alloc_bytes(m, sizeof *s + length + 1);
    if (s == NULL) return NULL;
    s->class = &string_class;
    s->length = length;
    memcpy(s->bytes, bytes, length + 1);
    return s;
}

static void set(struct tuple *t, size_t i, value v) { hw_write(m, t, &t->values[i], to_object(v)); }

static double sum(value v) {
    if (!is_object(v)) return v == 0 ? 0 : is_integer(v) ? (int32_t)v : to_double(v);
    const struct tuple *t = to_object(v);
    if (t->class != &tuple_class) return (double)((const struct string *)t)->length;
    double all = 0;
    for (size_t i = 0; i < t->length; i++) all += sum(t->values[i]);
    return all;
}

int main(void) {
    hw_heap *heap;
    hw_type header, element;
    hw_error why;
    if (hw_heap_create(NULL, &heap, &why) || hw_attach(heap, NULL, &m, &why) ||
        hw_type_no_pointers(heap, sizeof(struct tuple), &header, &why) ||
        hw_type_describe(heap, "ptr", NULL, &element, &why) || hw_type_tail(heap, header, element, &tuples, &why)) {
        fprintf(stderr, "values: %s\n", why.text);
        return 1;
    }
    struct tuple *all = new_tuple(1000);
    for (int i = 0; all != NULL && i < 1000; i++) {
        struct tuple *t = new_tuple((size_t)i % 9 + 3);
        if (t == NULL) break;
        set(all, (size_t)i, of_object(t));
        set(t, 0, of_double(i / 4.0 - 100));
        set(t, 1, of_integer(-i));
        set(t, 2, of_object(new_string("seven..")));
        for (int garbage = 0; garbage < 100; garbage++) new_tuple(5);
    }
    hw_collect(m);
    printf("%.2f\n", sum(of_object(all)));
    hw_detach(m);
    return hw_heap_destroy(heap, NULL) != HW_OK;
}
