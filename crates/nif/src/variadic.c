/* The functions of the NIF interface that stable Rust cannot define. Most take a variable number of arguments: each hands on what Rust
 * can take. One ends its thread, and so unwinds the stack, which it may not from a Rust function. */

#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef unsigned long Word;

Word enif_make_tuple_from_array(void *env, const Word *elements, unsigned count);
Word enif_make_list_from_array(void *env, const Word *elements, unsigned count);
int myriad_nif_print(char *to, size_t room, Word term);
void *enif_alloc(size_t size);
void enif_free(void *memory);

void enif_thread_exit(void *result) { pthread_exit(result); }

enum { FEW = 16 };

#define FROM_ARGUMENTS(make)                                                                  \
    Word few[FEW];                                                                            \
    Word *elements = count <= FEW ? few : enif_alloc(count * sizeof(Word));                   \
    va_list arguments;                                                                        \
    va_start(arguments, count);                                                               \
    for (unsigned i = 0; i < count; i++)                                                      \
        elements[i] = va_arg(arguments, Word);                                                \
    va_end(arguments);                                                                        \
    Word made = make(env, elements, count);                                                   \
    if (elements != few)                                                                      \
        enif_free(elements);                                                                  \
    return made;

Word enif_make_tuple(void *env, unsigned count, ...) { FROM_ARGUMENTS(enif_make_tuple_from_array) }
Word enif_make_list(void *env, unsigned count, ...) { FROM_ARGUMENTS(enif_make_list_from_array) }

/* Text that is made piece by piece: what has room is written, all of it is counted. */
struct text {
    char *to;
    size_t room;
    size_t length;
};

static void add(struct text *text, const char *piece, size_t length)
{
    if (text->length < text->room) {
        size_t left = text->room - text->length;
        memcpy(text->to + text->length, piece, length < left ? length : left);
    }
    text->length += length;
}

/* One conversion, `spec`, of which the standard library knows all but %T. `stars` arguments of width or precision come first. */
#define CONVERT(type)                                                                                                   \
    do {                                                                                                                \
        type value = va_arg(*arguments, type);                                                                          \
        length = stars == 0   ? snprintf(piece, room, spec, value)                                                      \
                 : stars == 1 ? snprintf(piece, room, spec, star[0], value)                                             \
                              : snprintf(piece, room, spec, star[0], star[1], value);                                   \
    } while (0)

/* Writes what is converted to `piece`; its length, as `snprintf` counts. */
static int convert(char *piece, size_t room, const char *spec, char kind, int longs, int stars, va_list *arguments)
{
    int star[2] = {0, 0};
    int length = 0;
    for (int i = 0; i < stars; i++)
        star[i] = va_arg(*arguments, int);
    switch (kind) {
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
        if (longs == 0)
            CONVERT(int);
        else
            CONVERT(long);
        break;
    case 'c':
        CONVERT(int);
        break;
    case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
        CONVERT(double);
        break;
    case 's': case 'p':
        CONVERT(void *);
        break;
    case 'T':
        length = myriad_nif_print(piece, room, va_arg(*arguments, Word));
        break;
    default:
        break;
    }
    return length;
}

static size_t format_all(char *to, size_t room, const char *format, va_list *arguments)
{
    struct text text = {to, room, 0};
    while (*format) {
        size_t plain = strcspn(format, "%");
        add(&text, format, plain);
        format += plain;
        if (*format == 0)
            break;
        if (format[1] == '%') {
            add(&text, "%", 1);
            format += 2;
            continue;
        }
        size_t width = 1 + strspn(format + 1, "-+ #0123456789.*");
        size_t size = strspn(format + width, "hlzjtq");
        char kind = format[width + size];
        char spec[64];
        if (kind == 0 || width + size + 2 > sizeof spec)
            break;
        memcpy(spec, format, width + size + 1);
        spec[width + size + 1] = 0;
        int stars = 0, longs = 0;
        for (size_t i = 0; i < width + size; i++) {
            stars += spec[i] == '*';
            longs += i >= width && spec[i] != 'h';
        }
        format += width + size + 1;
        char few[256];
        va_list again;
        va_copy(again, *arguments);
        int length = convert(few, sizeof few, spec, kind, longs, stars < 2 ? stars : 2, arguments);
        if (length >= (int)sizeof few) {
            char *many = enif_alloc((size_t)length + 1);
            convert(many, (size_t)length + 1, spec, kind, longs, stars < 2 ? stars : 2, &again);
            add(&text, many, (size_t)length);
            enif_free(many);
        } else if (length > 0) {
            add(&text, few, (size_t)length);
        }
        va_end(again);
    }
    if (room > 0)
        to[text.length < room ? text.length : room - 1] = 0;
    return text.length;
}

int enif_vsnprintf(char *to, size_t room, const char *format, va_list arguments)
{
    va_list own;
    va_copy(own, arguments);
    size_t length = format_all(to, room, format, &own);
    va_end(own);
    return (int)length;
}

int enif_snprintf(char *to, size_t room, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = enif_vsnprintf(to, room, format, arguments);
    va_end(arguments);
    return length;
}

int enif_vfprintf(FILE *file, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    char few[512];
    char *text = few;
    int length = enif_vsnprintf(few, sizeof few, format, arguments);
    if (length >= (int)sizeof few) {
        text = enif_alloc((size_t)length + 1);
        enif_vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    size_t written = fwrite(text, 1, (size_t)length, file);
    if (text != few)
        enif_free(text);
    return written == (size_t)length ? length : -1;
}

int enif_fprintf(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = enif_vfprintf(file, format, arguments);
    va_end(arguments);
    return length;
}
