/* A stand-in for libnccl.so.2 that works on host memory, among processes or
   threads of one machine, and at once: streams are not looked at, unless
   FAKE_NCCL_STREAM says which one is expected. VERSION, as ncclGetVersion tells
   it, decides which functions there are. FAKE_NCCL_INIT is what initializing
   returns, FAKE_NCCL_ASYNC what failed in the background. See ranks.h for more.

   cc -shared -fPIC -o libnccl.so.2 fakenccl.c */
#include "ranks.h"

#ifndef VERSION
#define VERSION 22809
#endif

enum { SUCCESS = 0, SYSTEM = 2, INTERNAL = 3, ARGUMENT = 4, USAGE = 5 };
enum { LIVE = 0x6e63636c };

typedef struct {
	unsigned char internal[128];
} ncclUniqueId;

typedef struct {
	int live;
	int finalized;
	struct group group;
} *ncclComm_t;

static char last_error[256];

static int fail(int code, const char *format, const char *what)
{
	snprintf(last_error, sizeof last_error, format, what);
	return code;
}

static int number(const char *name)
{
	const char *text = getenv(name);
	return text ? atoi(text) : 0;
}

int ncclGetVersion(int *version)
{
	*version = VERSION;
	return SUCCESS;
}

const char *ncclGetErrorString(int code) { return code == ARGUMENT ? "invalid argument" : "some error"; }

#if VERSION >= 21304
const char *ncclGetLastError(ncclComm_t comm) { return comm ? "the communicator must be NULL" : last_error; }
#endif

int ncclGetUniqueId(ncclUniqueId *id)
{
	make_id(id->internal, 0);
	return SUCCESS;
}

static int init(ncclComm_t *comm, int world, const ncclUniqueId *id, int rank)
{
	ncclComm_t c;
	if (number("FAKE_NCCL_INIT"))
		return fail(number("FAKE_NCCL_INIT"), "%s", "the test says so");
	if (world < 1 || world > MAX_RANKS)
		return fail(ARGUMENT, "initializing: %s", "the number of ranks");
	if (rank < 0 || rank >= world)
		return fail(ARGUMENT, "initializing: %s", "the rank");
	if (!valid_id(id->internal))
		return fail(ARGUMENT, "initializing: %s", "the unique id");
	c = calloc(1, sizeof *c);
	if (join(&c->group, id->internal, 0, rank, world, 0)) {
		free(c);
		return fail(SYSTEM, "initializing: %s", "a rank did not come");
	}
	c->live = LIVE;
	*comm = c;
	return SUCCESS;
}

int ncclCommInitRank(ncclComm_t *comm, int world, ncclUniqueId id, int rank)
{
	return init(comm, world, &id, rank);
}

#if VERSION >= 22304
int ncclCommInitRankScalable(ncclComm_t *comm, int world, int rank, int ids, const ncclUniqueId *id, void *config)
{
	if (ids != 1)
		return fail(ARGUMENT, "initializing: %s", "the number of ids");
	if (config)
		return fail(ARGUMENT, "initializing: %s", "the configuration");
	return init(comm, world, id, rank);
}
#endif

static int check_comm(ncclComm_t c)
{
	if (!c)
		return fail(ARGUMENT, "%s", "comm argument is NULL");
	return c->live == LIVE ? SUCCESS : fail(ARGUMENT, "%s", "comm is none");
}

#if VERSION >= 21403
int ncclCommFinalize(ncclComm_t comm)
{
	int code = check_comm(comm);
	if (code)
		return code;
	comm->finalized = 1;
	return meet(&comm->group) ? fail(SYSTEM, "finalizing: %s", "a rank did not come") : SUCCESS;
}
#endif

static int release(ncclComm_t comm)
{
	comm->live = 0;
	leave(&comm->group);
	free(comm);
	return SUCCESS;
}

int ncclCommDestroy(ncclComm_t comm)
{
	int code = check_comm(comm);
	if (code)
		return code;
#if VERSION >= 21403
	if (!comm->finalized)
		return fail(USAGE, "destroying: %s", "not finalized");
#endif
	return release(comm);
}

int ncclCommAbort(ncclComm_t comm)
{
	int code = check_comm(comm);
	return code ? code : release(comm);
}

int ncclCommGetAsyncError(ncclComm_t comm, int *error)
{
	int code = check_comm(comm);
	if (code == SUCCESS)
		*error = number("FAKE_NCCL_ASYNC");
	if (code == SUCCESS && *error)
		fail(*error, "%s", "failed in the background");
	return code;
}

/* check is what all collectives check of their arguments. */
static int check(const struct call *call, ncclComm_t comm, const void *recv, void *stream)
{
	const char *expected = getenv("FAKE_NCCL_STREAM");
	int code = check_comm(comm);
	if (code)
		return code;
	if (call->type < 0 || call->type >= (VERSION < 22403 ? FLOAT8E4M3 : TYPES))
		return fail(ARGUMENT, "%s", "the data type");
	if (call->op < 0 || call->op >= OPS)
		return fail(ARGUMENT, "%s", "the operation");
	if (call->root < 0 || call->root >= comm->group.world)
		return fail(ARGUMENT, "%s", "the root");
	if (call->count && !recv && (call->kind != REDUCE || call->root == comm->group.rank))
		return fail(ARGUMENT, "%s", "the buffer");
	if (expected && strtoull(expected, NULL, 0) != (uintptr_t)stream)
		return fail(ARGUMENT, "%s", "the stream");
	return SUCCESS;
}

static int run(struct call call, const void *send, void *recv, ncclComm_t comm, void *stream)
{
	int code = check(&call, comm, recv, stream);
	const char *complaint;
	if (code)
		return code;
	complaint = collective(&comm->group, &call, send, recv);
	return complaint ? fail(INTERNAL, "%s", complaint) : SUCCESS;
}

int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op, ncclComm_t comm, void *stream)
{
	return run((struct call){ALLREDUCE, type, op, 0, count}, send, recv, comm, stream);
}

int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op, ncclComm_t comm, void *stream)
{
	return run((struct call){REDUCESCATTER, type, op, 0, count}, send, recv, comm, stream);
}

int ncclAllGather(const void *send, void *recv, size_t count, int type, ncclComm_t comm, void *stream)
{
	return run((struct call){ALLGATHER, type, 0, 0, count}, send, recv, comm, stream);
}

int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root, ncclComm_t comm, void *stream)
{
	return run((struct call){BROADCAST, type, 0, root, count}, send, recv, comm, stream);
}

#ifndef NO_REDUCE /* a library that is not whole */
int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root, ncclComm_t comm, void *stream)
{
	return run((struct call){REDUCE, type, op, root, count}, send, recv, comm, stream);
}
#endif

#if VERSION >= 22803
int ncclAlltoAll(const void *send, void *recv, size_t count, int type, ncclComm_t comm, void *stream)
{
	return run((struct call){ALLTOALL, type, 0, 0, count}, send, recv, comm, stream);
}
#endif

/* Groups belong to a thread. The only one that is taken is an all to all: a
   send to and a receive from every rank, in order, of parts that lie in order. */
struct transfer {
	const char *buffer;
	size_t count;
	int type;
};

static _Thread_local struct {
	int open, sends, recvs;
	struct transfer send[MAX_RANKS], recv[MAX_RANKS];
	ncclComm_t comm;
	void *stream;
} group;

int ncclGroupStart(void)
{
	if (group.open)
		return fail(USAGE, "%s", "a group within a group");
	memset(&group, 0, sizeof group);
	group.open = 1;
#ifdef SLOW_GROUPS /* long enough for a goroutine to lose its processor, and with it its thread */
	usleep(1000);
#endif
	return SUCCESS;
}

static int add(struct transfer *list, int *n, struct transfer t, int peer, ncclComm_t comm, void *stream)
{
	int code = check_comm(comm);
	if (code)
		return code;
	if (!group.open)
		return fail(USAGE, "%s", "a send or receive outside of a group");
	if (peer != *n || peer >= comm->group.world)
		return fail(ARGUMENT, "%s", "the peer");
	if (group.comm && (group.comm != comm || group.stream != stream))
		return fail(ARGUMENT, "%s", "two communicators or streams in a group");
	group.comm = comm;
	group.stream = stream;
	list[(*n)++] = t;
	return SUCCESS;
}

int ncclSend(const void *buffer, size_t count, int type, int peer, ncclComm_t comm, void *stream)
{
	return add(group.send, &group.sends, (struct transfer){buffer, count, type}, peer, comm, stream);
}

int ncclRecv(void *buffer, size_t count, int type, int peer, ncclComm_t comm, void *stream)
{
	return add(group.recv, &group.recvs, (struct transfer){buffer, count, type}, peer, comm, stream);
}

/* same reports whether t is part number i of what first begins. */
static int same(const struct transfer *t, const struct transfer *first, int i)
{
	return t->count == first->count && t->type == first->type &&
	       t->buffer == first->buffer + (size_t)i * first->count * size_of(first->type);
}

int ncclGroupEnd(void)
{
	struct call call = {ALLTOALL, group.send[0].type, 0, 0, group.send[0].count};
	int code;
	if (!group.open)
		return fail(USAGE, "%s", "no group");
	group.open = 0;
	if (!group.comm)
		return SUCCESS;
	code = check(&call, group.comm, group.recv[0].buffer, group.stream);
	if (code)
		return code;
	if (group.sends != group.comm->group.world || group.recvs != group.comm->group.world)
		return fail(USAGE, "%s", "a group that is no all to all");
	for (int i = 0; i < group.sends; i++)
		if (!same(&group.send[i], &group.send[0], i) || !same(&group.recv[i], &group.recv[0], i) ||
		    group.recv[i].count != call.count || group.recv[i].type != call.type)
			return fail(USAGE, "%s", "parts that do not lie in order");
	return run(call, group.send[0].buffer, (char *)group.recv[0].buffer, group.comm, group.stream);
}
