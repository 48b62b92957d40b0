/* A stand-in for libcuda.so.1 with two GPUs, for tests of how it is called.

   Device memory is host memory, and copies happen at once. Every call except
   queries is written down, with its arguments, for the test to compare.
   It is strict where a real driver would crash or corrupt: calls need a
   current context on their thread, handles have to be live and of the right
   kind, buffers large enough, PTX terminated by NUL.

   FAKE_CUDA_SHARES has GPUs that reach each other and pass memory on by file
   descriptors; FAKE_CUDA_FORGETS lets a program run that nobody asks for its calls.
   FAKE_CUDA_INIT_MS and FAKE_CUDA_CONTEXT_MS are how long the first cuInit and every
   context take.

   Ranks may call from threads of their own, one at a time for most functions.
   Virtual memory management and multicast objects are in fakevmm.h.

   A module is any text; its log is what the compiler says of PTX that
   contains "broken". A kernel whose parameter the text declares, as clang does it,
   has that one; of the others "two" has two, "none" has none, and every other one
   of 16 bytes. No kernel runs. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
       INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600 };
enum kind { FREE, MEMORY, HOST, REGISTERED, MODULE, FUNCTION, STREAM, EVENT, GRAPH, EXEC, MAPPING,
	    HANDLE, RANGE, BINDING, KINDS };

static const char *kinds[KINDS] = { "", "memory", "host", "registered", "module", "function", "stream", "event", "graph", "exec", "mapping",
				     "handle", "range", "binding" };

static struct object {
	enum kind kind;
	uintptr_t handle;
	size_t bytes; /* of memory, and of a function's parameters */
	char name[32];
	char *text; /* of a module */
} objects[256];

static char calls[1 << 16];
static size_t written;
static int initialized, contexts, busy, ticks, capturing, compute_major = 9;
static char fail_name[64];
static int fail_code, fail_on;
static int fail_device, fail_in, in_code; /* the calls of a device until one fails, 0 for never */
static char failed[64];
static int primary[2];           /* a context per device; only their addresses matter */
static __thread int *current;

/* A call holds the lock from its beginning to its end. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int lock(void)
{
	pthread_mutex_lock(&mutex);
	return 0;
}
static void unlock(int *locked)
{
	pthread_mutex_unlock(&mutex);
}
#define SERIAL() __attribute__((cleanup(unlock), unused)) int locked = lock()

/* device_here is the device whose context is current on the thread, or 0. */
static int device_here(void) { return current ? 70 + (int)(current - primary) : 0; }

static void reset_vmm(void);
static size_t live_vmm(char *to, size_t size);
static int vmm_attribute(int *value, int attribute, int device);

/* The test's side. */

int fake_reset(void)
{
	memset(objects, 0, sizeof objects);
	written = calls[0] = initialized = contexts = busy = ticks = capturing = fail_code = 0;
	current = 0;
	compute_major = 9;
	fail_in = failed[0] = 0;
	reset_vmm();
	return 0;
}

/* fake_compute sets the major compute capability of both GPUs. */
int fake_compute(int major)
{
	compute_major = major;
	return 0;
}

/* fake_calls hands out what was written down since the last time. */
int fake_calls(char *to, size_t size)
{
	SERIAL();
	snprintf(to, size, "%s", calls);
	written = calls[0] = 0;
	return 0;
}

/* fake_live lists what was made and not released. */
int fake_live(char *to, size_t size)
{
	SERIAL();
	size_t n = snprintf(to, size, "contexts=%d", contexts);
	for (int k = MEMORY; k < KINDS; k++) {
		int count = 0;
		for (int i = 0; i < 256; i++)
			count += (int)objects[i].kind == k;
		if (count && k != FUNCTION)
			n += snprintf(to + n, size - n, " %s=%d", kinds[k], count);
	}
	live_vmm(to + n, size - n);
	return 0;
}

/* fake_fail_on makes the next call of a function on a device return a code, and
   fake_fail on any. */
int fake_fail_on(int device, const char *name, int code)
{
	SERIAL();
	snprintf(fail_name, sizeof fail_name, "%s", name);
	fail_code = code;
	fail_on = device;
	return 0;
}

int fake_fail(const char *name, int code)
{
	fail_on = 0;
	snprintf(fail_name, sizeof fail_name, "%s", name);
	fail_code = code;
	return 0;
}

/* fake_fail_in makes the nth call from now on of a device return a code. */
int fake_fail_in(int device, int n, int code)
{
	SERIAL();
	fail_device = device;
	fail_in = n;
	in_code = code;
	failed[0] = 0;
	return 0;
}

/* fake_failed names the call that fake_fail_in made fail. */
int fake_failed(char *to, size_t size)
{
	SERIAL();
	snprintf(to, size, "%s", failed);
	return 0;
}

/* fake_busy makes the next n queries of a stream say that it is not ready. */
int fake_busy(int n)
{
	busy = n;
	return 0;
}

/* Common parts. */

static int enter(const char *name, const char *format, ...)
{
	va_list args;
	if (written > sizeof calls / 2 && getenv("FAKE_CUDA_FORGETS"))
		written = 0;
	va_start(args, format);
	written += snprintf(calls + written, sizeof calls - written, "%s", name);
	written += vsnprintf(calls + written, sizeof calls - written, format, args);
	written += snprintf(calls + written, sizeof calls - written, "\n");
	va_end(args);
	if (fail_code && !strcmp(name, fail_name) && (!fail_on || fail_on == device_here())) {
		int code = fail_code;
		fail_code = 0;
		return code;
	}
	if (fail_in && device_here() == fail_device && --fail_in == 0) {
		snprintf(failed, sizeof failed, "%s", name);
		return in_code;
	}
	return 0;
}

static struct object *find(enum kind kind, uintptr_t handle)
{
	for (int i = 0; i < 256; i++)
		if (handle && objects[i].kind == kind && objects[i].handle == handle)
			return &objects[i];
	return 0;
}

static struct object *make(enum kind kind, uintptr_t handle, size_t bytes)
{
	for (int i = 0; i < 256; i++)
		if (objects[i].kind == FREE) {
			objects[i] = (struct object){ .kind = kind, .bytes = bytes };
			objects[i].handle = handle ? handle : 0x1000u * kind + i;
			return &objects[i];
		}
	abort();
}

#define ENTER(...) SERIAL(); do { int code = enter(__func__, __VA_ARGS__); if (code) return code; } while (0)
#define INITIALIZED() do { if (!initialized) return NOT_INITIALIZED; } while (0)
#define CONTEXT() do { if (!current) return INVALID_CONTEXT; } while (0)
#define LIVE(kind, handle) do { CONTEXT(); if (!find(kind, handle)) return INVALID_HANDLE; } while (0)

static int drop(enum kind kind, uintptr_t handle, int code)
{
	struct object *o = find(kind, handle);
	if (!current)
		return INVALID_CONTEXT;
	if (!o)
		return code;
	o->kind = FREE;
	return 0;
}

/* Devices. */

/* Waits for as many milliseconds as a variable says. */
static void take_ms(const char *variable)
{
	const char *text = getenv(variable);
	long ms = text ? atol(text) : 0;
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };
	while (ms > 0 && nanosleep(&t, &t))
		;
}

int cuInit(unsigned flags)
{
	ENTER(" %u", flags);
	if (!initialized)
		take_ms("FAKE_CUDA_INIT_MS");
	initialized = 1;
	return 0;
}

int cuDriverGetVersion(int *version)
{
	*version = 13010;
	return 0;
}

int cuGetErrorString(int code, const char **text)
{
	*text = code == 205 ? "mapping of buffer object failed" : 0;
	return code == 205 ? 0 : INVALID_VALUE;
}

int cuDeviceGetCount(int *count)
{
	INITIALIZED();
	*count = 2;
	return 0;
}

int cuDeviceGet(int *device, int ordinal)
{
	INITIALIZED();
	if (ordinal < 0 || ordinal > 1)
		return INVALID_DEVICE;
	*device = 70 + ordinal; /* so that nobody takes an ordinal for a device */
	return 0;
}

static int is_device(int device) { return device == 70 || device == 71; }

int cuDeviceGetName(char *name, int length, int device)
{
	if (!is_device(device) || length < 1)
		return INVALID_DEVICE;
	memset(name, '#', length);
	snprintf(name, length, "NVIDIA Fake");
	return 0;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device)
{
	if (!is_device(device))
		return INVALID_DEVICE;
	for (int i = 0; i < 16; i++)
		uuid[i] = i;
	uuid[0] = 0xa0 + device - 70;
	return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	*bytes = 150ULL << 30;
	return is_device(device) ? 0 : INVALID_DEVICE;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	if (!is_device(device))
		return INVALID_DEVICE;
	switch (attribute) {
	case 16: *value = 132; return 0;
	case 33: *value = 0x18 + device - 70; return 0;
	case 34: case 50: *value = 0; return 0;
	case 75: *value = compute_major; return 0;
	case 76: *value = 0; return 0;
	case 97: *value = 227 << 10; return 0;
	}
	return vmm_attribute(value, attribute, device);
}

/* Only the second GPU can be let into the other's memory, unless FAKE_CUDA_SHARES
   is set. */
int cuDeviceCanAccessPeer(int *can, int device, int peer)
{
	ENTER(" %d %d", device, peer);
	if (!is_device(device) || !is_device(peer))
		return INVALID_DEVICE;
	*can = device == 71 || getenv("FAKE_CUDA_SHARES");
	return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device)
{
	ENTER(" %d", device);
	if (!is_device(device))
		return INVALID_DEVICE;
	take_ms("FAKE_CUDA_CONTEXT_MS");
	*context = &primary[device - 70];
	contexts++;
	return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device)
{
	ENTER(" %d", device);
	contexts--;
	return is_device(device) ? 0 : INVALID_DEVICE;
}

int cuCtxSetCurrent(void *context)
{
	ENTER(" %s", context ? "primary" : "none");
	if (context && context != &primary[0] && context != &primary[1])
		return INVALID_CONTEXT;
	current = context;
	return 0;
}

/* Memory. */

/* New memory has garbage in it, but for what lies beyond the data of any test: most of 64 MiB is never touched. */
static void litter(void *memory, size_t bytes)
{
	const size_t most = 1 << 20;
	memset(memory, 0xcc, bytes < most ? bytes : most);
}

int cuMemAlloc_v2(uint64_t *ptr, size_t bytes)
{
	ENTER(" %zu", bytes);
	CONTEXT();
	void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
	if (!memory)
		return 2;
	litter(memory, bytes);
	*ptr = make(MEMORY, (uintptr_t)memory, bytes)->handle;
	return 0;
}

int cuMemFree_v2(uint64_t ptr)
{
	ENTER("");
	int code = drop(MEMORY, ptr, INVALID_VALUE);
	if (!code)
		free((void *)ptr);
	return code;
}

int cuMemHostAlloc(void **host, size_t bytes, unsigned flags)
{
	ENTER(" %zu %u", bytes, flags);
	CONTEXT();
	*host = malloc(bytes);
	litter(*host, bytes);
	make(HOST, (uintptr_t)*host, bytes);
	return 0;
}

int cuMemFreeHost(void *host)
{
	ENTER("");
	int code = drop(HOST, (uintptr_t)host, INVALID_VALUE);
	if (!code)
		free(host);
	return code;
}

int cuMemHostGetDevicePointer_v2(uint64_t *ptr, void *host, unsigned flags)
{
	ENTER(" %u", flags);
	CONTEXT();
	if (!find(HOST, (uintptr_t)host) && !find(REGISTERED, (uintptr_t)host))
		return INVALID_HANDLE;
	*ptr = (uintptr_t)host;
	return 0;
}

int cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags)
{
	ENTER(" %zu %u", bytes, flags);
	CONTEXT();
	if ((uintptr_t)host % 4096)
		return INVALID_VALUE;
	/* Crashes unless the memory can be read and written. It tries one page in 16, which would be taken from the system. */
	for (size_t i = 0; i < bytes; i += 16 * 4096)
		((volatile char *)host)[i] = ((volatile char *)host)[i];
	((volatile char *)host)[bytes - 1] = ((volatile char *)host)[bytes - 1];
	make(REGISTERED, (uintptr_t)host, bytes);
	return 0;
}

int cuMemHostUnregister(void *host)
{
	ENTER("");
	return drop(REGISTERED, (uintptr_t)host, 713 /* not registered */);
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, uintptr_t stream)
{
	ENTER(" %zu", bytes);
	LIVE(STREAM, stream);
	memcpy((void *)to, from, bytes);
	return 0;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, uintptr_t stream)
{
	ENTER(" %zu", bytes);
	LIVE(STREAM, stream);
	memcpy(to, (void *)from, bytes);
	return 0;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, uintptr_t stream)
{
	ENTER(" %zu", bytes);
	LIVE(STREAM, stream);
	memcpy((void *)to, (void *)from, bytes);
	return 0;
}

/* Whether memory lies within one piece that cuMemAlloc has returned, of this process alone. */
static int allocated(uint64_t at, size_t bytes)
{
	for (int i = 0; i < 256; i++)
		if (objects[i].kind == MEMORY && at >= objects[i].handle && at + bytes <= objects[i].handle + objects[i].bytes)
			return 1;
	return 0;
}

/* Zeroes memory. Whole pages of a memfd or of cuMemAlloc are given back, and read as zeros without being there: runs
   clear tens of megabytes that they hardly use. Other memory refuses that. */
static void clear(uint64_t to, size_t bytes)
{
	const uint64_t page = 4096, begin = (to + page - 1) / page * page, end = (to + bytes) / page * page;
	const int advice = allocated(to, bytes) ? MADV_DONTNEED : MADV_REMOVE;
	if (begin >= end || madvise((void *)begin, end - begin, advice)) {
		memset((void *)to, 0, bytes);
		return;
	}
	memset((void *)to, 0, begin - to);
	memset((void *)end, 0, to + bytes - end);
}

int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, uintptr_t stream)
{
	ENTER(" %#x %zu", value, bytes);
	LIVE(STREAM, stream);
	if (value)
		memset((void *)to, value, bytes);
	else
		clear(to, bytes);
	return 0;
}

/* The word must lie within one piece of memory. */
int cuStreamWriteValue32_v2(uintptr_t stream, uint64_t to, uint32_t value, unsigned flags)
{
	ENTER(" %#x %u", value, flags);
	LIVE(STREAM, stream);
	if (!allocated(to, sizeof value))
		return INVALID_VALUE;
	memcpy((void *)to, &value, sizeof value);
	return 0;
}

/* A word that is not there yet would keep a stream waiting: this one does nothing meanwhile. */
int cuStreamWaitValue32_v2(uintptr_t stream, uint64_t at, uint32_t value, unsigned flags)
{
	ENTER(" %#x %u", value, flags);
	LIVE(STREAM, stream);
	return allocated(at, sizeof value) ? 0 : INVALID_VALUE;
}

/* Memory of other processes: a handle is the address and a pattern. */

typedef struct {
	char bytes[64];
} ipc_handle;

static void pattern(ipc_handle *handle, uint64_t ptr)
{
	for (int i = 0; i < 64; i++)
		handle->bytes[i] = i;
	memcpy(handle->bytes + 8, &ptr, 8);
}

int cuIpcGetMemHandle(ipc_handle *handle, uint64_t ptr)
{
	ENTER("");
	LIVE(MEMORY, ptr);
	pattern(handle, ptr);
	return 0;
}

int cuIpcOpenMemHandle_v2(uint64_t *ptr, ipc_handle handle, unsigned flags)
{
	ENTER(" %u", flags);
	ipc_handle want;
	uint64_t memory;
	memcpy(&memory, handle.bytes + 8, 8);
	pattern(&want, memory);
	if (memcmp(&want, &handle, sizeof want))
		return INVALID_HANDLE;
	LIVE(MEMORY, memory);
	*ptr = make(MAPPING, memory, 0)->handle;
	return 0;
}

int cuIpcCloseMemHandle(uint64_t ptr)
{
	ENTER("");
	return drop(MAPPING, ptr, INVALID_VALUE);
}

/* Modules and launches. */

int cuModuleLoadDataEx(uintptr_t *module, const char *image, unsigned count, int *options, void **values)
{
	ENTER(" %zu %u", strlen(image), count);
	CONTEXT();
	if (count != 2 || options[0] != 5 || options[1] != 6)
		return INVALID_VALUE;
	if (strstr(image, "broken")) {
		snprintf(values[0], (size_t)values[1], "line 3: broken");
		return INVALID_PTX;
	}
	struct object *o = make(MODULE, 0, 0);
	o->text = strdup(image);
	*module = o->handle;
	return 0;
}

int cuModuleUnload(uintptr_t module)
{
	ENTER("");
	struct object *o = find(MODULE, module);
	int code = drop(MODULE, module, INVALID_HANDLE);
	if (!code)
		free(o->text);
	return code;
}

/* declared is the size of a kernel's parameter block that PTX declares, or else 16. */
static size_t declared(const char *ptx, const char *name)
{
	char line[128];
	snprintf(line, sizeof line, " %s_param_0[", name);
	const char *at = strstr(ptx, line);
	return at ? strtoul(at + strlen(line), 0, 10) : 16;
}

int cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name)
{
	ENTER(" %s", name);
	LIVE(MODULE, module);
	if (!strcmp(name, "missing"))
		return NOT_FOUND;
	struct object *o = make(FUNCTION, 0, declared(find(MODULE, module)->text, name));
	snprintf(o->name, sizeof o->name, "%s", name);
	*function = o->handle;
	return 0;
}

int cuModuleGetGlobal_v2(uintptr_t *address, size_t *bytes, uintptr_t module, const char *name)
{
	ENTER(" %s", name);
	LIVE(MODULE, module);
	if (!strcmp(name, "missing"))
		return NOT_FOUND;
	*address = 0x7000;
	*bytes = 24;
	return 0;
}

int cuFuncGetAttribute(int *value, int attribute, uintptr_t function)
{
	LIVE(FUNCTION, function);
	*value = 1024; /* of static shared memory */
	return attribute == 1 ? 0 : INVALID_VALUE;
}

int cuFuncSetAttribute(uintptr_t function, int attribute, int value)
{
	ENTER(" %d %d", attribute, value);
	LIVE(FUNCTION, function);
	return value > 227 << 10 ? INVALID_VALUE : 0;
}

int cuFuncGetParamInfo(uintptr_t function, size_t index, size_t *offset, size_t *size)
{
	LIVE(FUNCTION, function);
	const struct object *o = find(FUNCTION, function);
	int apart = !strcmp(o->name, "apart");
	size_t count = apart || !strcmp(o->name, "two") ? 2 : !strcmp(o->name, "none") ? 0 : 1;
	*size = count == 2 ? 8 : o->bytes;
	*offset = (apart ? 112 : *size) * index; /* byte 528 + 112 of the constant bank is aligned to 128 */
	return index < count ? 0 : INVALID_VALUE;
}

/*
 * write_hex writes the first 16 bytes of a kernel's parameters, or "none". Those of the kernels "two" and "apart" have 8
 * bytes each.
 */
static void write_hex(char hex[33], const struct object *function, void **params)
{
	int two = function && (!strcmp(function->name, "two") || !strcmp(function->name, "apart"));
	sprintf(hex, "none");
	for (int i = 0; params && i < 16; i++)
		sprintf(hex + 2 * i, "%02x", two ? ((unsigned char **)params)[i / 8][i % 8] : ((unsigned char **)params)[0][i]);
}

// 2,048 threads and 100 KB of shared memory fit on a multiprocessor.
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, uintptr_t function, int threads, size_t shared)
{
	ENTER(" block %d shared %zu", threads, shared);
	*blocks = 2048 / threads;
	if (shared && 102400 / (int)shared < *blocks)
		*blocks = 102400 / (int)shared;
	return find(FUNCTION, function) ? 0 : INVALID_HANDLE;
}

int cuLaunchKernel(uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			  unsigned shared, uintptr_t stream, void **params, void **extra)
{
	struct object *o = find(FUNCTION, function);
	char hex[33];
	write_hex(hex, o, params);
	ENTER(" %s grid %u,%u,%u block %u,%u,%u shared %u params %s%s", o ? o->name : "?", gx, gy, gz, bx, by, bz, shared, hex,
	      extra ? " extra" : "");
	LIVE(STREAM, stream);
	return o ? 0 : INVALID_HANDLE;
}

typedef struct {
	unsigned id;
	char pad[4];
	union {
		char bytes[64];
		struct {
			unsigned x, y, z;
		} cluster;
		int cooperative, programmatic_stream_serialization_allowed;
	} value;
} launch_attribute;

typedef struct {
	unsigned gx, gy, gz, bx, by, bz, shared;
	uintptr_t stream;
	launch_attribute *attributes;
	unsigned count;
} launch_config;

/* as_expected checks an attribute in every byte, padding too, and appends it to a text. */
static int as_expected(const launch_attribute *a, const launch_config *c, char *text)
{
	launch_attribute want;
	memset(&want, 0, sizeof want);
	want.id = a->id;
	if (a->id == 4) {
		unsigned x = a->value.cluster.x, y = a->value.cluster.y, z = a->value.cluster.z;
		want.value.cluster.x = x, want.value.cluster.y = y, want.value.cluster.z = z;
		sprintf(text + strlen(text), " cluster %u,%u,%u", x, y, z);
		if (x < 1 || y < 1 || z < 1 || c->gx % x || c->gy % y || c->gz % z)
			return 0;
	} else if (a->id == 2) {
		want.value.cooperative = 1;
		sprintf(text + strlen(text), " cooperative");
	} else if (a->id == 6) {
		want.value.programmatic_stream_serialization_allowed = 1;
		sprintf(text + strlen(text), " dependent");
	} else {
		return 0;
	}
	return !memcmp(&want, a, sizeof want);
}

/* The structs have to be as expected in every byte. */
int cuLaunchKernelEx(const launch_config *config, uintptr_t function, void **params, void **extra)
{
	struct object *o = find(FUNCTION, function);
	char hex[33], attributes[128] = "";
	int right = config->count > 0 && config->count < 4;
	launch_config want_config;
	write_hex(hex, o, params);
	for (unsigned i = 0; right && i < config->count; i++)
		right = as_expected(&config->attributes[i], config, attributes);
	ENTER(" %s grid %u,%u,%u block %u,%u,%u shared %u%s params %s%s", o ? o->name : "?", config->gx, config->gy,
	      config->gz, config->bx, config->by, config->bz, config->shared, attributes, hex, extra ? " extra" : "");
	memset(&want_config, 0, sizeof want_config);
	want_config.gx = config->gx, want_config.gy = config->gy, want_config.gz = config->gz;
	want_config.bx = config->bx, want_config.by = config->by, want_config.bz = config->bz;
	want_config.shared = config->shared;
	want_config.stream = config->stream;
	want_config.attributes = config->attributes;
	want_config.count = config->count;
	if (!right || memcmp(&want_config, config, sizeof want_config))
		return INVALID_VALUE;
	LIVE(STREAM, config->stream);
	return o ? 0 : INVALID_HANDLE;
}

/* An encoded tensor map counts up from 1000, in words. */
int cuTensorMapEncodeTiled(unsigned *map, int type, unsigned rank, uint64_t base, const uint64_t *sizes, const uint64_t *strides,
			   const unsigned *box, const unsigned *element_strides, int interleave, int swizzle, int promotion, int fill)
{
	char text[256] = "";
	if (!rank || rank > 5)
		return INVALID_VALUE;
	for (unsigned i = 0; i < rank; i++)
		sprintf(text + strlen(text), " %llu/%u/%u", (unsigned long long)sizes[i], box[i], element_strides[i]);
	for (unsigned i = 0; i + 1 < rank; i++)
		sprintf(text + strlen(text), " stride %llu", (unsigned long long)strides[i]);
	ENTER(" type %d at %#llx%s interleave %d swizzle %d promotion %d fill %d", type, (unsigned long long)base, text, interleave,
	      swizzle, promotion, fill);
	CONTEXT();
	if ((uintptr_t)map % 128 || base % 16)
		return INVALID_VALUE;
	for (unsigned i = 0; i < 32; i++)
		map[i] = 1000 + i;
	return 0;
}

/* Streams, events, graphs. */

int cuStreamCreate(uintptr_t *stream, unsigned flags)
{
	ENTER(" %u", flags);
	CONTEXT();
	*stream = make(STREAM, 0, 0)->handle;
	return 0;
}

int cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	ENTER("");
	CONTEXT();
	*least = 0;
	*greatest = -5;
	return 0;
}

int cuStreamCreateWithPriority(uintptr_t *stream, unsigned flags, int priority)
{
	ENTER(" %u %d", flags, priority);
	CONTEXT();
	*stream = make(STREAM, 0, 0)->handle;
	return 0;
}

int cuStreamDestroy_v2(uintptr_t stream)
{
	ENTER("");
	return drop(STREAM, stream, INVALID_HANDLE);
}

int cuStreamQuery(uintptr_t stream)
{
	SERIAL();
	LIVE(STREAM, stream);
	if (busy > 0) {
		busy--;
		return NOT_READY;
	}
	if (fail_code && !strcmp(fail_name, __func__))
		return fail_code;
	return 0;
}

int cuStreamSynchronize(uintptr_t stream)
{
	ENTER("");
	LIVE(STREAM, stream);
	return 0;
}

int cuStreamBeginCapture_v2(uintptr_t stream, int mode)
{
	ENTER(" %d", mode);
	LIVE(STREAM, stream);
	capturing = 1;
	return 0;
}

int cuStreamEndCapture(uintptr_t stream, uintptr_t *graph)
{
	ENTER("");
	LIVE(STREAM, stream);
	if (!capturing)
		return INVALID_VALUE;
	capturing = 0;
	*graph = make(GRAPH, 0, 0)->handle;
	return 0;
}

int cuGraphInstantiateWithFlags(uintptr_t *exec, uintptr_t graph, unsigned long long flags)
{
	ENTER(" %llu", flags);
	LIVE(GRAPH, graph);
	*exec = make(EXEC, 0, 0)->handle;
	return 0;
}

int cuGraphDestroy(uintptr_t graph)
{
	ENTER("");
	return drop(GRAPH, graph, INVALID_HANDLE);
}

int cuGraphExecDestroy(uintptr_t exec)
{
	ENTER("");
	return drop(EXEC, exec, INVALID_HANDLE);
}

int cuGraphCreate(uintptr_t *graph, unsigned flags)
{
	ENTER(" %u", flags);
	CONTEXT();
	*graph = make(GRAPH, 0, 0)->handle;
	return 0;
}

/* The first version of the struct, of 56 bytes. */
typedef struct {
	uintptr_t function;
	unsigned gx, gy, gz, bx, by, bz, shared;
	void **params, **extra;
} kernel_node;

_Static_assert(sizeof(kernel_node) == 56, "CUDA_KERNEL_NODE_PARAMS_v1");

static void write_node(char *text, const kernel_node *n)
{
	struct object *o = find(FUNCTION, n->function);
	char hex[33];
	write_hex(hex, o, n->params);
	sprintf(text, " %s grid %u,%u,%u block %u,%u,%u shared %u params %s%s", o ? o->name : "?", n->gx, n->gy, n->gz,
		n->bx, n->by, n->bz, n->shared, hex, n->extra ? " extra" : "");
}

/* A node's handle is one more than its graph's. */
int cuGraphAddKernelNode(uintptr_t *node, uintptr_t graph, const uintptr_t *dependencies, size_t count, const kernel_node *n)
{
	char text[256];
	write_node(text, n);
	ENTER("%s after %zu", text, count);
	LIVE(GRAPH, graph);
	LIVE(FUNCTION, n->function);
	if (dependencies)
		return INVALID_VALUE;
	*node = graph + 1;
	return 0;
}

int cuGraphExecKernelNodeSetParams(uintptr_t exec, uintptr_t node, const kernel_node *n)
{
	char text[256];
	write_node(text, n);
	ENTER("%s", text);
	LIVE(EXEC, exec);
	LIVE(GRAPH, node - 1);
	LIVE(FUNCTION, n->function);
	return 0;
}

int cuGraphUpload(uintptr_t exec, uintptr_t stream)
{
	ENTER("");
	LIVE(EXEC, exec);
	LIVE(STREAM, stream);
	return capturing ? 900 : 0;
}

int cuGraphLaunch(uintptr_t exec, uintptr_t stream)
{
	ENTER("");
	LIVE(EXEC, exec);
	LIVE(STREAM, stream);
	return 0;
}

int cuEventCreate(uintptr_t *event, unsigned flags)
{
	ENTER(" %u", flags);
	CONTEXT();
	*event = make(EVENT, 0, 0)->handle;
	return 0;
}

int cuEventDestroy_v2(uintptr_t event)
{
	ENTER("");
	return drop(EVENT, event, INVALID_HANDLE);
}

int cuEventRecord(uintptr_t event, uintptr_t stream)
{
	ENTER("");
	LIVE(EVENT, event);
	LIVE(STREAM, stream);
	find(EVENT, event)->bytes = ++ticks;
	return 0;
}

int cuStreamWaitEvent(uintptr_t stream, uintptr_t event, unsigned flags)
{
	ENTER(" %u", flags);
	LIVE(EVENT, event);
	LIVE(STREAM, stream);
	return 0;
}

/* A tick is a quarter of a millisecond. */
int cuEventElapsedTime_v2(float *ms, uintptr_t start, uintptr_t end)
{
	ENTER("");
	LIVE(EVENT, start);
	LIVE(EVENT, end);
	*ms = 0.25f * ((float)find(EVENT, end)->bytes - (float)find(EVENT, start)->bytes);
	return 0;
}

#include "fakevmm.h"
