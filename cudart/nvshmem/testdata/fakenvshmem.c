/* A stand-in for libnvshmem_host.so.3 that works on host memory, among
   processes of one machine, and at once: streams are not looked at, unless
   FAKE_NVSHMEM_STREAM says which one is expected. The heap is a part of a file
   that all PEs map, and what only moves elements writes into it before the PEs
   meet. It checks every byte that it is handed; like the real one
   it prints a line and calls exit(-1) where it finds something fatal.

   FAKE_NVSHMEM_INIT    what initializing returns
   FAKE_NVSHMEM_STATUS  the status after initializing, instead of 2
   FAKE_NVSHMEM_DEVICE  the device that is expected
   FAKE_NVSHMEM_PE      the PE that the library believes to be
   FAKE_NVSHMEM_MC      1: there are multicast pointers
   VERSION              at compile time, as in -DVERSION=2,11,0

   cc -shared -fPIC -o libnvshmem_host.so.3 fakenvshmem.c */
#include "../../nccl/testdata/ranks.h"

#ifndef VERSION
#define VERSION 3, 4, 5
#endif

enum { SUCCESS = 0, INVALID_VALUE = 1, INTERNAL = 7 };
enum { ALIGNMENT = 512, MOST_ALLOCATIONS = 64 };

typedef struct {
	int version;
	char internal[124];
} nvshmemx_uniqueid_t;

typedef struct {
	int version;
	nvshmemx_uniqueid_t *id;
	int myrank, nranks;
} nvshmemx_uniqueid_args_t;

typedef struct {
	int version;
	nvshmemx_uniqueid_args_t uid_args;
	int cuda_device_id;
	char content[92];
} nvshmemx_init_args_t;

typedef struct {
	int version;
	void *mpi_comm;
	nvshmemx_init_args_t args;
} nvshmemx_init_attr_t;

_Static_assert(sizeof(nvshmemx_init_attr_t) == 144, "nvshmemx_init_attr_v2");
_Static_assert(sizeof(nvshmemx_init_args_t) == 128, "nvshmemx_init_args_v2");

static struct group group;
static int status;
static size_t heap, used; /* bytes of a PE's heap; up to where it was given out */
static char *allocations[MOST_ALLOCATIONS];
static int live;

static int number(const char *name, int otherwise)
{
	const char *text = getenv(name);
	return text ? atoi(text) : otherwise;
}

static int complain(int code, const char *what)
{
	fprintf(stderr, "fake nvshmem: %s\n", what);
	return code;
}

static void fatal(const char *what)
{
	complain(0, what);
	exit(-1);
}

void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
	int version[] = {VERSION};
	*major = version[0];
	*minor = version[1];
	*patch = version[2];
}

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uid)
{
	if (uid->version != 0x10080)
		return complain(INVALID_VALUE, "the unique id's version");
	make_id((unsigned char *)uid, 4);
	return SUCCESS;
}

/* What the header's initializer and the caller's device make of an attribute. */
static void blank(nvshmemx_init_attr_t *attr, int device)
{
	memset(attr, 0, sizeof *attr);
	attr->version = 0x20090;
	attr->args.version = 0x20080;
	attr->args.uid_args.version = 0x10018;
	attr->args.uid_args.myrank = attr->args.uid_args.nranks = -1;
	attr->args.cuda_device_id = device;
}

int nvshmemx_set_attr_uniqueid_args(int rank, int n, const nvshmemx_uniqueid_t *uid, nvshmemx_init_attr_t *attr)
{
	nvshmemx_init_attr_t want;
	blank(&want, number("FAKE_NVSHMEM_DEVICE", attr->args.cuda_device_id));
	if (memcmp(attr, &want, sizeof want))
		return complain(INVALID_VALUE, "the attribute is not as initialized, or has another device");
	attr->args.uid_args.id = (nvshmemx_uniqueid_t *)uid;
	attr->args.uid_args.myrank = rank;
	attr->args.uid_args.nranks = n;
	return SUCCESS;
}

int nvshmemx_hostlib_init_attr(unsigned flags, nvshmemx_init_attr_t *attr)
{
	const char *size = getenv("NVSHMEM_SYMMETRIC_SIZE");
	const nvshmemx_uniqueid_args_t *uid = &attr->args.uid_args;
	if (number("FAKE_NVSHMEM_INIT", 0))
		return complain(number("FAKE_NVSHMEM_INIT", 0), "the test says so");
	if (flags != 8)
		return complain(INVALID_VALUE, "the flags");
	if (attr->args.cuda_device_id < 0)
		return complain(INVALID_VALUE, "the device");
	if (uid->nranks < 1 || uid->nranks > MAX_RANKS || uid->myrank < 0 || uid->myrank >= uid->nranks)
		return complain(INVALID_VALUE, "the rank, or the number of ranks");
	if (!uid->id || uid->id->version != 0x10080 || !valid_id((unsigned char *)uid->id))
		return complain(INVALID_VALUE, "the unique id");
	heap = size ? strtoull(size, NULL, 10) : 1UL << 30;
	heap = (heap + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (join(&group, (unsigned char *)uid->id, 4, uid->myrank, uid->nranks, heap))
		fatal("a PE did not come");
	used = 0;
	live = 0;
	status = number("FAKE_NVSHMEM_STATUS", 2);
	return SUCCESS;
}

int nvshmemx_init_status(void) { return status; }

/* up ends the process where the library is not initialized. */
static void up(void)
{
	if (status < 2)
		fatal("called before initialization has completed");
}

static void barrier(void)
{
	if (meet(&group))
		fatal("a PE did not come");
}

int nvshmem_my_pe(void) { return status < 2 ? -1 : number("FAKE_NVSHMEM_PE", group.rank); }
int nvshmem_n_pes(void) { return status < 2 ? -1 : group.world; }

void nvshmemx_hostlib_finalize(void)
{
	up();
	barrier();
	leave(&group);
	status = 0;
	if (live)
		complain(0, "allocations were not freed");
}

static char *mine(void) { return group.extra + (size_t)group.rank * heap; }

/* agreed reports whether all PEs say the same word. */
static int agreed(size_t word)
{
	int same = 1;
	group.shared->words[group.rank] = word;
	barrier();
	for (int pe = 0; pe < group.world; pe++)
		same &= group.shared->words[pe] == word;
	barrier();
	return same;
}

void *nvshmem_malloc(size_t bytes)
{
	size_t end;
	up();
	if (number("FAKE_NVSHMEM_FATAL", 0))
		fatal("the test says so");
	if (!agreed(bytes))
		fatal("PEs allocate different sizes");
	end = used + (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	if (end > heap || live == MOST_ALLOCATIONS)
		return NULL;
	allocations[live] = mine() + used;
	used = end;
	return allocations[live++];
}

void nvshmem_free(void *ptr)
{
	int i = 0;
	up();
	while (i < live && allocations[i] != ptr)
		i++;
	if (i == live)
		fatal("free of what is not allocated");
	if (!agreed((size_t)((char *)ptr - mine())))
		fatal("PEs free different memory");
	allocations[i] = allocations[--live];
	if (!live)
		used = 0;
}

static int symmetric(const void *ptr)
{
	return (const char *)ptr >= mine() && (const char *)ptr < mine() + heap;
}

void *nvshmem_ptr(const void *ptr, int pe)
{
	up();
	if (!symmetric(ptr) || pe < 0 || pe >= group.world)
		return NULL;
	return (char *)ptr + ((size_t)pe - (size_t)group.rank) * heap;
}

void *nvshmemx_mc_ptr(int team, const void *ptr)
{
	const char *off = getenv("NVSHMEM_DISABLE_NVLS");
	up();
	if (team != 0)
		fatal("the team");
	if (!symmetric(ptr) || number("FAKE_NVSHMEM_MC", 0) == 0 || (off && !strchr("0NnFf", off[0])))
		return NULL;
	return (char *)ptr + (1UL << 40); /* nothing reads it */
}

static int expected(int team, const void *stream)
{
	const char *want = getenv("FAKE_NVSHMEM_STREAM");
	up();
	return team == 0 && (!want || strtoull(want, NULL, 0) == (uintptr_t)stream);
}

int nvshmemx_barrier_on_stream(int team, void *stream)
{
	if (!expected(team, stream))
		return complain(INVALID_VALUE, "the team or the stream");
	barrier();
	return SUCCESS;
}

/* put writes a call's elements into the peers' memory, whatever they are doing, and
   meets the peers only then: the real one does not ask either whether they have
   come. */
static const char *put(struct call call, char *dst, const char *src)
{
	size_t part = call.count * size_of(call.type);
	int parts = call.kind == BROADCAST ? 1 : group.world;
	const char *complaint;
	if (part && (!symmetric(dst + parts * part - 1) || !symmetric(src + (call.kind == ALLTOALL ? parts : 1) * part - 1)))
		return "a buffer that ends outside of the heap";
	for (int pe = 0; pe < group.world; pe++) {
		char *theirs = dst + ((size_t)pe - (size_t)group.rank) * heap;
		if (call.kind != BROADCAST)
			memmove(theirs + group.rank * part, src + (call.kind == ALLTOALL ? pe * part : 0), part);
		else if (group.rank == call.root)
			memmove(theirs, src, part);
	}
	complaint = agree(&group, &call);
	if (complaint)
		return complaint;
	return meet(&group) ? "a PE left" : NULL;
}

static int run(int team, struct call call, void *dst, const void *src, void *stream)
{
	const char *complaint;
	if (!expected(team, stream))
		return complain(INVALID_VALUE, "the team or the stream");
	if (call.root < 0 || call.root >= group.world)
		return complain(INVALID_VALUE, "the root");
	if (!symmetric(dst) || !symmetric(src))
		return complain(INVALID_VALUE, "a buffer outside of the heap");
	if (call.kind == ALLREDUCE || call.kind == REDUCESCATTER)
		complaint = collective(&group, &call, src, dst);
	else
		complaint = put(call, dst, src);
	return complaint ? complain(INTERNAL, complaint) : SUCCESS;
}

/* A function for each type, and each reduction. */
#define REDUCTION(NAME, TYPE, OP, NUMBER)                                                                              \
	int nvshmemx_##NAME##_##OP##_reduce_on_stream(int team, void *dst, const void *src, size_t n, void *stream)        \
	{                                                                                                                  \
		return run(team, (struct call){ALLREDUCE, TYPE, NUMBER, 0, n}, dst, src, stream);                              \
	}                                                                                                                  \
	int nvshmemx_##NAME##_##OP##_reducescatter_on_stream(int team, void *dst, const void *src, size_t n, void *stream) \
	{                                                                                                                  \
		return run(team, (struct call){REDUCESCATTER, TYPE, NUMBER, 0, n}, dst, src, stream);                          \
	}

#define TYPED(NAME, TYPE)                                                                                              \
	REDUCTION(NAME, TYPE, sum, SUM)                                                                                    \
	REDUCTION(NAME, TYPE, prod, PROD)                                                                                  \
	REDUCTION(NAME, TYPE, max, MAX)                                                                                    \
	REDUCTION(NAME, TYPE, min, MIN)                                                                                    \
	int nvshmemx_##NAME##_fcollect_on_stream(int team, void *dst, const void *src, size_t n, void *stream)             \
	{                                                                                                                  \
		return run(team, (struct call){ALLGATHER, TYPE, 0, 0, n}, dst, src, stream);                                   \
	}                                                                                                                  \
	int nvshmemx_##NAME##_alltoall_on_stream(int team, void *dst, const void *src, size_t n, void *stream)             \
	{                                                                                                                  \
		return run(team, (struct call){ALLTOALL, TYPE, 0, 0, n}, dst, src, stream);                                    \
	}                                                                                                                  \
	int nvshmemx_##NAME##_broadcast_on_stream(int team, void *dst, const void *src, size_t n, int root, void *stream)  \
	{                                                                                                                  \
		return run(team, (struct call){BROADCAST, TYPE, 0, root, n}, dst, src, stream);                                \
	}

TYPED(int8, INT8)
TYPED(uint8, UINT8)
TYPED(int32, INT32)
TYPED(uint32, UINT32)
TYPED(int64, INT64)
TYPED(uint64, UINT64)
TYPED(half, FLOAT16)
TYPED(float, FLOAT32)
TYPED(double, FLOAT64)
#ifndef NO_BFLOAT16
TYPED(bfloat16, BFLOAT16)
#endif
