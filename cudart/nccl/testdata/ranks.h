/* What a stand-in for a communication library is made of: ranks, which are
   processes or threads of one machine, that meet in a shared file, and
   collectives on host memory. Reductions add in the order of the ranks, 16- and
   8-bit floats in float, and round once. The file is in $TMPDIR, or /dev/shm, and
   loses its name as soon as all ranks have it. A wait ends after FAKE_WAIT_MS
   milliseconds, or a minute. The rank FAKE_LOST never comes to a collective. */
#ifndef RANKS_H
#define RANKS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAX_RANKS = 16, SLOT = 1 << 20, WAIT_MS = 60000 };

/* The numbers of nccl.h. */
enum { INT8, UINT8, INT32, UINT32, INT64, UINT64, FLOAT16, FLOAT32, FLOAT64, BFLOAT16, FLOAT8E4M3, FLOAT8E5M2, TYPES };
enum { SUM, PROD, MAX, MIN, AVG, OPS };
enum { ALLREDUCE, REDUCESCATTER, ALLGATHER, BROADCAST, REDUCE, ALLTOALL, GATHER, SCATTER, WINDOW };

/* A call as all ranks must make it. */
struct call {
	int kind, type, op, root;
	size_t count;
};

struct shared {
	atomic_int arrived, generation;
	struct call calls[MAX_RANKS];
	size_t words[MAX_RANKS];
};

struct group {
	int rank, world;
	struct shared *shared;
	char *slots; /* SLOT bytes for each rank */
	char *extra; /* what the caller asked for besides */
	size_t mapped;
};

/* Unique ids: who made it, a random number, and a pattern and a checksum by
   which every byte counts. lead bytes at the front are the caller's. */
static uint32_t checksum(const unsigned char *bytes, int n)
{
	uint32_t sum = 2166136261u;
	for (int i = 0; i < n; i++)
		sum = (sum ^ bytes[i]) * 16777619u;
	return sum;
}

static void make_id(unsigned char id[128], int lead)
{
	uint32_t sum;
	for (int i = lead; i < 124; i++)
		id[i] = (unsigned char)(0xa5 ^ 3 * i);
	if (getentropy(id + lead, 8)) {
		uint64_t mine = (uint64_t)getpid() << 32 ^ (uint64_t)time(NULL);
		memcpy(id + lead, &mine, 8);
	}
	sum = checksum(id, 124);
	memcpy(id + 124, &sum, 4);
}

static int valid_id(const unsigned char id[128])
{
	uint32_t sum = checksum(id, 124);
	return memcmp(id + 124, &sum, 4) == 0;
}

static long long milliseconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static long futex(atomic_int *word, int operation, int value, const struct timespec *limit)
{
	return syscall(SYS_futex, word, operation, value, limit, NULL, 0);
}

/* meet waits for all ranks; -1 where one does not come. It sleeps, because
   there may be more ranks than cores. */
static int meet(struct group *g)
{
	atomic_int *generation = &g->shared->generation;
	int now = atomic_load(generation);
	const char *limit = getenv("FAKE_WAIT_MS");
	long long end = milliseconds() + (limit ? atoi(limit) : WAIT_MS), left;
	if (atomic_fetch_add(&g->shared->arrived, 1) == g->world - 1) {
		atomic_store(&g->shared->arrived, 0);
		atomic_fetch_add(generation, 1);
		futex(generation, FUTEX_WAKE, MAX_RANKS, NULL);
		return 0;
	}
	while (atomic_load(generation) == now) {
		left = end - milliseconds();
		if (left <= 0)
			return -1;
		futex(generation, FUTEX_WAIT, now, &(struct timespec){left / 1000, left % 1000 * 1000000});
	}
	return 0;
}

static void leave(struct group *g)
{
	if (g->shared)
		munmap(g->shared, g->mapped);
	g->shared = NULL;
}

/* join maps the file that the id names, and removes its name once all ranks
   have it. extra bytes more are mapped for each rank. -1 where it fails. */
static int join(struct group *g, const unsigned char id[128], int lead, int rank, int world, size_t extra)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	uint64_t number;
	void *memory = MAP_FAILED;
	int fd, met;

	memcpy(&number, id + lead, 8);
	snprintf(path, sizeof path, "%s/ranks-%016llx", folder ? folder : "/dev/shm", (unsigned long long)number);
	memset(g, 0, sizeof *g);
	g->rank = rank;
	g->world = world;
	g->mapped = 65536 + (size_t)world * (SLOT + extra);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && ftruncate(fd, (off_t)g->mapped) == 0)
		memory = mmap(NULL, g->mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (fd >= 0)
		close(fd);
	if (memory == MAP_FAILED)
		return -1;
	g->shared = memory;
	g->slots = (char *)memory + 65536;
	g->extra = g->slots + (size_t)world * SLOT;
	met = meet(g);
	unlink(path);
	if (met)
		leave(g);
	return met;
}

static size_t size_of(int type)
{
	static const size_t sizes[TYPES] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
	return sizes[type];
}

/* Floats of 16 and 8 bits. Beyond the greatest code comes infinity, or where
   there is none, the greatest code again. */
struct format {
	int exponent, mantissa;
	unsigned greatest, beyond;
};

static const struct format formats[TYPES] = {
	[FLOAT16] = {5, 10, 0x7bff, 0x7c00},
	[BFLOAT16] = {8, 7, 0x7f7f, 0x7f80},
	[FLOAT8E4M3] = {4, 3, 0x7e, 0x7e},
	[FLOAT8E5M2] = {5, 2, 0x7b, 0x7b},
};

static double power_of_two(int e)
{
	uint64_t bits = (uint64_t)(e + 1023) << 52;
	double x;
	memcpy(&x, &bits, 8);
	return x;
}

static double decode(const struct format *f, unsigned code)
{
	int bias = (1 << (f->exponent - 1)) - 1;
	unsigned magnitude = code & ((1u << (f->exponent + f->mantissa)) - 1);
	int e = (int)(magnitude >> f->mantissa);
	unsigned m = magnitude & ((1u << f->mantissa) - 1);
	double x;
	if (magnitude > f->greatest)
		x = magnitude == f->beyond ? __builtin_inf() : __builtin_nan("");
	else
		x = (m + (e ? power_of_two(f->mantissa) : 0)) * power_of_two((e ? e : 1) - bias - f->mantissa);
	return magnitude == code ? x : -x;
}

static unsigned encode(const struct format *f, double x)
{
	int bias = (1 << (f->exponent - 1)) - 1;
	unsigned sign = __builtin_signbit(x) ? 1u << (f->exponent + f->mantissa) : 0;
	double a = sign ? -x : x, steps;
	uint64_t bits;
	int e;
	unsigned code;
	if (x != x)
		return (1u << (f->exponent + f->mantissa)) - 1;
	memcpy(&bits, &a, 8);
	e = (int)(bits >> 52) - 1023;
	if (e > bias)
		e = bias + 1;
	if (e < 1 - bias)
		e = 1 - bias;
	steps = a * power_of_two(f->mantissa - e);
	if (steps > 0x1p30)
		return sign | f->beyond;
	steps = (steps + 0x1p52) - 0x1p52; /* to nearest, ties to even */
	code = (unsigned)steps + ((unsigned)(e + bias - 1) << f->mantissa);
	return sign | (code > f->greatest ? f->beyond : code);
}

static double load_float(int type, const void *from, size_t i)
{
	switch (type) {
	case FLOAT32:
		return ((const float *)from)[i];
	case FLOAT64:
		return ((const double *)from)[i];
	case FLOAT16:
	case BFLOAT16:
		return decode(&formats[type], ((const uint16_t *)from)[i]);
	}
	return decode(&formats[type], ((const uint8_t *)from)[i]);
}

static void store_float(int type, void *to, size_t i, double x)
{
	switch (type) {
	case FLOAT32:
		((float *)to)[i] = (float)x;
		break;
	case FLOAT64:
		((double *)to)[i] = x;
		break;
	case FLOAT16:
	case BFLOAT16:
		((uint16_t *)to)[i] = (uint16_t)encode(&formats[type], x);
		break;
	default:
		((uint8_t *)to)[i] = (uint8_t)encode(&formats[type], x);
	}
}

static double combine_floats(int op, double a, double b)
{
	switch (op) {
	case PROD:
		return a * b;
	case MAX:
		return a > b ? a : b;
	case MIN:
		return a < b ? a : b;
	}
	return a + b;
}

static void reduce_floats(int type, int op, int n, const char *parts[], size_t count, void *to)
{
	for (size_t i = 0; i < count; i++) {
		double x = load_float(type, parts[0], i);
		for (int r = 1; r < n; r++) {
			x = combine_floats(op, x, load_float(type, parts[r], i));
			if (type != FLOAT64)
				x = (float)x;
		}
		if (op == AVG)
			x = type == FLOAT64 ? x / n : (float)x / (float)n;
		store_float(type, to, i, x);
	}
}

static int is_unsigned(int type) { return type == UINT8 || type == UINT32 || type == UINT64; }

/* cut keeps what fits into the type: every partial result is one of the type. */
static int64_t cut(int type, int64_t x)
{
	switch (type) {
	case INT8:
		return (int8_t)x;
	case UINT8:
		return (uint8_t)x;
	case INT32:
		return (int32_t)x;
	case UINT32:
		return (uint32_t)x;
	}
	return x;
}

static int64_t load_integer(int type, const void *from, size_t i)
{
	switch (type) {
	case INT8:
		return ((const int8_t *)from)[i];
	case UINT8:
		return ((const uint8_t *)from)[i];
	case INT32:
		return ((const int32_t *)from)[i];
	case UINT32:
		return ((const uint32_t *)from)[i];
	}
	return ((const int64_t *)from)[i];
}

static int64_t combine_integers(int type, int op, int64_t a, int64_t b)
{
	int less = is_unsigned(type) ? (uint64_t)a < (uint64_t)b : a < b;
	switch (op) {
	case PROD:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case MAX:
		return less ? b : a;
	case MIN:
		return less ? a : b;
	}
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void reduce_integers(int type, int op, int n, const char *parts[], size_t count, char *to)
{
	for (size_t i = 0; i < count; i++) {
		int64_t x = load_integer(type, parts[0], i);
		for (int r = 1; r < n; r++)
			x = cut(type, combine_integers(type, op, x, load_integer(type, parts[r], i)));
		if (op == AVG)
			x = is_unsigned(type) ? (int64_t)((uint64_t)x / (uint64_t)n) : x / n;
		memcpy(to + i * size_of(type), &x, size_of(type)); /* little endian */
	}
}

/* A piece of a call: n elements from the given one on, of each part. */
struct piece {
	const struct call *call;
	size_t at, n;
	int parts; /* parts that a rank publishes */
};

static char *published(struct group *g, const struct piece *p, int rank, int part)
{
	return g->slots + (size_t)rank * SLOT + (size_t)part * p->n * size_of(p->call->type);
}

static void publish(struct group *g, const struct piece *p, const char *send)
{
	size_t size = size_of(p->call->type);
	if ((p->call->kind == BROADCAST || p->call->kind == SCATTER) && g->rank != p->call->root)
		return; /* its send need not be memory */
	for (int part = 0; part < p->parts; part++)
		memcpy(published(g, p, g->rank, part), send + ((size_t)part * p->call->count + p->at) * size, p->n * size);
}

static void consume(struct group *g, const struct piece *p, char *recv)
{
	const struct call *c = p->call;
	size_t size = size_of(c->type);
	const char *parts[MAX_RANKS];
	for (int r = 0; r < g->world; r++)
		parts[r] = published(g, p, r, p->parts > 1 ? g->rank : 0);
	switch (c->kind) {
	case GATHER:
		if (g->rank != c->root)
			return;
		/* fall through */
	case ALLGATHER:
	case ALLTOALL:
		for (int r = 0; r < g->world; r++)
			memcpy(recv + ((size_t)r * c->count + p->at) * size, parts[r], p->n * size);
		return;
	case BROADCAST:
	case SCATTER:
		memcpy(recv + p->at * size, parts[c->root], p->n * size);
		return;
	case REDUCE:
		if (g->rank != c->root)
			return;
	}
	if (formats[c->type].exponent || c->type == FLOAT32 || c->type == FLOAT64)
		reduce_floats(c->type, c->op, g->world, parts, p->n, recv + p->at * size);
	else
		reduce_integers(c->type, c->op, g->world, parts, p->n, recv + p->at * size);
}

/* agree keeps the rank FAKE_LOST for good, meets the others, and compares what all
   call. It returns what went wrong, or NULL. Who has the answer meets once more
   before the next call. */
static const char *agree(struct group *g, const struct call *call)
{
	const char *lost = getenv("FAKE_LOST");
	while (lost && atoi(lost) == g->rank)
		pause(); /* until a signal is handled */
	g->shared->calls[g->rank] = *call;
	if (meet(g))
		return "a rank did not come";
	for (int r = 0; r < g->world; r++) {
		const struct call *other = &g->shared->calls[r];
		if (other->kind != call->kind || other->type != call->type || other->op != call->op ||
		    other->root != call->root || other->count != call->count)
			return "ranks called with different arguments";
	}
	return NULL;
}

/* part_per_rank reports whether a send has a part for each rank. */
static int part_per_rank(int kind) { return kind == REDUCESCATTER || kind == ALLTOALL || kind == SCATTER; }

/* collective runs a call, which all ranks make. It returns what went wrong, or
   NULL. */
static const char *collective(struct group *g, const struct call *call, const void *send, void *recv)
{
	struct piece p = {.call = call, .parts = part_per_rank(call->kind) ? g->world : 1};
	size_t most = SLOT / size_of(call->type) / (size_t)p.parts;
	const char *complaint = agree(g, call);
	if (complaint)
		return complaint;
	for (; p.at < call->count; p.at += p.n) {
		p.n = call->count - p.at < most ? call->count - p.at : most;
		publish(g, &p, send);
		if (meet(g))
			return "a rank did not come";
		consume(g, &p, recv);
		if (meet(g))
			return "a rank left";
	}
	return meet(g) ? "a rank left" : NULL;
}

#endif
