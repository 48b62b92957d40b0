/* A stand-in for libnccl.so.2 that works on host memory, among processes or
   threads of one machine, and at once: streams are not looked at, unless
   FAKE_NCCL_STREAM says which one is expected. VERSION, as ncclGetVersion tells
   it, decides which functions there are. FAKE_NCCL_INIT is what initializing
   returns, FAKE_NCCL_ASYNC what failed in the background. FAKE_NCCL_WINDOW is what
   registering a window returns; none makes no window of it. A communicator with a window
   takes no buffers outside of that. See ranks.h for more.

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
	const char *window; /* the memory that is registered */
	size_t window_size;
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
	if (comm->window)
		return fail(USAGE, "finalizing: %s", "a window is left");
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

#if VERSION >= 22703
int ncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t size, void **window, int flags)
{
	const char *wanted = getenv("FAKE_NCCL_WINDOW"), *complaint;
	struct call call = {WINDOW, 0, 0, 0, size};
	int code = check_comm(comm);
	*window = NULL;
	if (code)
		return code;
	if (flags != 1)
		return fail(ARGUMENT, "registering: %s", "the flags");
	if (!buffer || !size || comm->window)
		return fail(ARGUMENT, "registering: %s", "the buffer");
	if (wanted && strcmp(wanted, "none") == 0)
		return SUCCESS;
	if (wanted && *wanted)
		return fail(atoi(wanted), "registering: %s", "the test says so");
	complaint = agree(&comm->group, &call);
	if (complaint || meet(&comm->group))
		return fail(INTERNAL, "registering: %s", complaint ? complaint : "a rank left");
	comm->window = buffer;
	comm->window_size = size;
	*window = &comm->window;
	return SUCCESS;
}

int ncclCommWindowDeregister(ncclComm_t comm, void *window)
{
	int code = check_comm(comm);
	if (code)
		return code;
	if (!comm->window || window != &comm->window)
		return fail(ARGUMENT, "deregistering: %s", "the window");
	comm->window = NULL;
	return SUCCESS;
}
#endif

/* registered reports whether a buffer lies in the window, where there is one. */
static int registered(ncclComm_t comm, const void *buffer, size_t bytes)
{
	const char *begin = buffer;
	return !comm->window || (begin >= comm->window && begin + bytes <= comm->window + comm->window_size);
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
	if (call->count && !recv && ((call->kind != REDUCE && call->kind != GATHER) || call->root == comm->group.rank))
		return fail(ARGUMENT, "%s", "the buffer");
	if (expected && strtoull(expected, NULL, 0) != (uintptr_t)stream)
		return fail(ARGUMENT, "%s", "the stream");
	return SUCCESS;
}

static int run(struct call call, const void *send, void *recv, ncclComm_t comm, void *stream)
{
	int code = check(&call, comm, recv, stream);
	const char *complaint;
	size_t bytes;
	if (code)
		return code;
	bytes = call.count * size_of(call.type);
	if (!registered(comm, send, bytes * (size_t)(part_per_rank(call.kind) ? comm->group.world : 1)) ||
	    !registered(comm, recv, bytes * (size_t)(call.kind == ALLGATHER ? comm->group.world : 1)))
		return fail(ARGUMENT, "%s", "the buffer is in no window");
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

/* Groups belong to a thread. Those that are taken are an all to all, a send to and a
   receive from every rank; a gather, a send to the root and its receives from every
   rank; and a scatter, the root's sends to every rank and a receive from it. Parts that
   are sent to or received from every rank lie in the order of ranks. */
struct transfer {
	const char *buffer;
	size_t count;
	int type, peer;
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
	if (peer < 0 || peer >= comm->group.world || *n >= comm->group.world)
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
	return add(group.send, &group.sends, (struct transfer){buffer, count, type, peer}, peer, comm, stream);
}

int ncclRecv(void *buffer, size_t count, int type, int peer, ncclComm_t comm, void *stream)
{
	return add(group.recv, &group.recvs, (struct transfer){buffer, count, type, peer}, peer, comm, stream);
}

/* alike reports whether all transfers have the call's count and type. */
static int alike(const struct transfer *list, int n, const struct call *call)
{
	for (int i = 0; i < n; i++)
		if (list[i].count != call->count || list[i].type != call->type)
			return 0;
	return 1;
}

/* each reports whether transfers are of part r to or from every rank r, in order. */
static int each(const struct transfer *list, int n, const struct call *call)
{
	if (n != group.comm->group.world)
		return 0;
	for (int r = 0; r < n; r++)
		if (list[r].peer != r || list[r].buffer != list[0].buffer + (size_t)r * call->count * size_of(call->type))
			return 0;
	return 1;
}

/* kind_of is the collective that the group is, or -1. The only transfer of a rank that
   is not the root says who is. */
static int kind_of(struct call *call)
{
	int all_sends = each(group.send, group.sends, call), all_recvs = each(group.recv, group.recvs, call);
	int rank = group.comm->group.rank;
	if (all_sends && all_recvs)
		return ALLTOALL;
	if (group.sends == 1 && group.recvs == 0 && group.send[0].peer != rank) {
		call->root = group.send[0].peer;
		return GATHER;
	}
	if (group.recvs == 1 && group.sends == 0 && group.recv[0].peer != rank) {
		call->root = group.recv[0].peer;
		return SCATTER;
	}
	call->root = rank;
	if (group.sends == 1 && group.send[0].peer == rank && all_recvs)
		return GATHER;
	if (group.recvs == 1 && group.recv[0].peer == rank && all_sends)
		return SCATTER;
	return -1;
}

int ncclGroupEnd(void)
{
	struct call call = {0};
	int code;
	if (!group.open)
		return fail(USAGE, "%s", "no group");
	group.open = 0;
	if (!group.comm)
		return SUCCESS;
	call.type = group.sends ? group.send[0].type : group.recv[0].type;
	call.count = group.sends ? group.send[0].count : group.recv[0].count;
	code = check(&call, group.comm, group.sends ? group.send[0].buffer : group.recv[0].buffer, group.stream);
	if (code)
		return code;
	call.kind = kind_of(&call);
	if (call.kind < 0 || !alike(group.send, group.sends, &call) || !alike(group.recv, group.recvs, &call))
		return fail(USAGE, "%s", "a group that is no all to all, gather or scatter");
	return run(call, group.send[0].buffer, (char *)group.recv[0].buffer, group.comm, group.stream);
}
