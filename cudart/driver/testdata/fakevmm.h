/* Virtual memory management and multicast objects of the stand-in for libcuda.

   Physical memory is a memfd, so that all who map it share its bytes, in other
   processes too: there the descriptor, or for a fabric handle /proc, leads to it.
   A multicast object is known in its own process only and has no bytes to read.
   Every struct has to be as expected in every byte, and every step of a multicast
   object has to wait for the one before it on all devices. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOT_SUPPORTED = 801, GRANULE = 2 << 20, TEAM_GRANULE = 4 << 20, FILE_HANDLE = 1, FABRIC_HANDLE = 8 };

/* physical is memory, or a multicast object where devices is not 0. */
static struct physical {
	int fd; /* 0 is no memory */
	ino_t inode;
	size_t bytes;
	int handle_type, references, device;
	unsigned devices, joined, bound; /* how many, and the first two as sets */
} physicals[64];

static struct {
	int vmm, file, fabric, multicast;
} able[2];

/* A handle's object has the index of its memory in bytes; so has a range's. */

static void reset_vmm(void)
{
	for (int i = 0; i < 64; i++)
		if (physicals[i].fd)
			close(physicals[i].fd);
	memset(physicals, 0, sizeof physicals);
	for (int i = 0; i < 2; i++) {
		memset(&able[i], 0, sizeof able[i]);
		able[i].vmm = able[i].file = 1;
	}
}

/* fake_attribute sets a device attribute of one GPU. */
int fake_attribute(int device, int attribute, int value)
{
	switch (attribute) {
	case 102: able[device - 70].vmm = value; return 0;
	case 103: able[device - 70].file = value; return 0;
	case 128: able[device - 70].fabric = value; return 0;
	case 132: able[device - 70].multicast = value; return 0;
	}
	return INVALID_VALUE;
}

static int vmm_attribute(int *value, int attribute, int device)
{
	switch (attribute) {
	case 102: *value = able[device - 70].vmm || getenv("FAKE_CUDA_SHARES"); return 0;
	case 103: *value = able[device - 70].file || getenv("FAKE_CUDA_SHARES"); return 0;
	case 128: *value = able[device - 70].fabric; return 0;
	case 132: *value = able[device - 70].multicast; return 0;
	}
	return INVALID_VALUE;
}

/* live_vmm lists the memory and the multicast objects that are left. */
static size_t live_vmm(char *to, size_t size)
{
	int memory = 0, teams = 0;
	size_t n = 0;
	for (int i = 0; i < 64; i++)
		if (physicals[i].fd)
			physicals[i].devices ? teams++ : memory++;
	if (memory)
		n += snprintf(to + n, size - n, " physical=%d", memory);
	if (teams)
		n += snprintf(to + n, size - n, " team=%d", teams);
	return n;
}

static struct physical *behind(uint64_t handle)
{
	struct object *o = find(HANDLE, handle);
	return o ? &physicals[o->bytes] : 0;
}

/* add_physical takes over a descriptor. */
static struct physical *add_physical(int fd)
{
	struct stat info;
	fstat(fd, &info);
	for (int i = 0; i < 64; i++)
		if (!physicals[i].fd) {
			physicals[i] = (struct physical){ .fd = fd, .inode = info.st_ino, .bytes = info.st_size };
			return &physicals[i];
		}
	abort();
}

static uint64_t new_handle(struct physical *p)
{
	p->references++;
	return make(HANDLE, 0, p - physicals)->handle;
}

static void drop_reference(struct physical *p)
{
	if (--p->references)
		return;
	close(p->fd);
	p->fd = 0;
}

/* Memory. */

typedef struct {
	int type, id;
} location;

typedef struct {
	int type, handle_types;
	location where;
	void *win32;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char reserved[4];
} allocation_prop;

_Static_assert(sizeof(allocation_prop) == 32, "CUmemAllocationProp");

static int wrong_prop(const allocation_prop *prop)
{
	allocation_prop want;
	memset(&want, 0, sizeof want);
	want.type = 1;
	want.handle_types = prop->handle_types == FABRIC_HANDLE ? FABRIC_HANDLE : FILE_HANDLE;
	want.where = (location){ 1, device_here() };
	return memcmp(&want, prop, sizeof want) != 0;
}

#ifndef WITHOUT_VMM

int cuMemGetAllocationGranularity(size_t *bytes, const allocation_prop *prop, int option)
{
	ENTER(" %d", option);
	CONTEXT();
	*bytes = GRANULE;
	return wrong_prop(prop) || option != 1 ? INVALID_VALUE : 0;
}

int cuMemCreate(uint64_t *handle, size_t bytes, const allocation_prop *prop, unsigned long long flags)
{
	ENTER(" %zu type %d", bytes, prop->handle_types);
	CONTEXT();
	if (wrong_prop(prop) || !bytes || bytes % GRANULE || flags)
		return INVALID_VALUE;
	int fd = memfd_create("fake device memory", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, bytes))
		abort();
	struct physical *p = add_physical(fd);
	p->handle_type = prop->handle_types;
	p->device = device_here();
	*handle = new_handle(p);
	return 0;
}

/* Memory has to be out of a multicast object before its owner lets go of it. */
int cuMemRelease(uint64_t handle)
{
	ENTER("");
	struct physical *p = behind(handle);
	for (int i = 0; p && i < 256; i++)
		if (objects[i].kind == BINDING && p->device == device_here() && &physicals[objects[i].bytes] == p)
			return INVALID_VALUE;
	int code = drop(HANDLE, handle, INVALID_VALUE);
	if (!code)
		drop_reference(p);
	return code;
}

typedef struct {
	int pid, fd;
	char zeros[56];
} fabric_handle;

/* The descriptor is not closed on exec: that is for the caller to do. */
int cuMemExportToShareableHandle(void *to, uint64_t handle, int type, unsigned long long flags)
{
	ENTER(" %d", type);
	LIVE(HANDLE, handle);
	struct physical *p = behind(handle);
	if (flags || type != p->handle_type)
		return INVALID_VALUE;
	if (type == FILE_HANDLE) {
		*(int *)to = fcntl(p->fd, F_DUPFD, 3);
		return 0;
	}
	fabric_handle fabric = { .pid = getpid(), .fd = p->fd };
	memcpy(to, &fabric, sizeof fabric);
	return 0;
}

/* known_or_new finds memory of this process by a descriptor that leads to it, or
   makes an entry for another process's. It takes over the descriptor. */
static struct physical *known_or_new(int fd, int type)
{
	struct stat info;
	if (fd < 0 || fstat(fd, &info) || !S_ISREG(info.st_mode))
		return 0;
	for (int i = 0; i < 64; i++)
		if (physicals[i].fd && physicals[i].inode == info.st_ino) {
			close(fd);
			return &physicals[i];
		}
	struct physical *p = add_physical(fd);
	p->handle_type = type;
	return p;
}

int cuMemImportFromShareableHandle(uint64_t *handle, void *from, int type)
{
	ENTER(" %d", type);
	CONTEXT();
	int fd = -1;
	if (type == FILE_HANDLE) {
		fd = fcntl((int)(intptr_t)from, F_DUPFD_CLOEXEC, 3);
	} else if (type == FABRIC_HANDLE) {
		fabric_handle *fabric = from;
		char path[64];
		snprintf(path, sizeof path, "/proc/%d/fd/%d", fabric->pid, fabric->fd);
		fd = open(path, O_RDWR | O_CLOEXEC);
	}
	struct physical *p = known_or_new(fd, type);
	if (!p) {
		if (fd >= 0)
			close(fd);
		return INVALID_VALUE;
	}
	*handle = new_handle(p);
	return 0;
}

/* A range's name holds what state it is in: reserved, mapped, open. */

int cuMemAddressReserve(uint64_t *ptr, size_t bytes, size_t alignment, uint64_t wish, unsigned long long flags)
{
	ENTER(" %zu", bytes);
	CONTEXT();
	if (!bytes || bytes % GRANULE || alignment || wish || flags)
		return INVALID_VALUE;
	void *addresses = mmap(0, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (addresses == MAP_FAILED)
		return 2;
	strcpy(make(RANGE, (uintptr_t)addresses, bytes)->name, "reserved");
	*ptr = (uintptr_t)addresses;
	return 0;
}

static int in_state(struct object *range, size_t bytes, const char *state)
{
	return range && range->bytes == bytes && !strcmp(range->name, state);
}

int cuMemAddressFree(uint64_t ptr, size_t bytes)
{
	ENTER(" %zu", bytes);
	CONTEXT();
	struct object *range = find(RANGE, ptr);
	if (!in_state(range, bytes, "reserved"))
		return INVALID_VALUE;
	munmap((void *)ptr, bytes);
	range->kind = FREE;
	return 0;
}

static struct {
	uint64_t ptr;
	struct physical *physical;
} maps[64];

int cuMemMap(uint64_t ptr, size_t bytes, size_t offset, uint64_t handle, unsigned long long flags)
{
	ENTER(" %zu", bytes);
	LIVE(HANDLE, handle);
	struct object *range = find(RANGE, ptr);
	struct physical *p = behind(handle);
	if (!in_state(range, bytes, "reserved") || offset || flags || bytes > p->bytes)
		return INVALID_VALUE;
	if (p->devices && __builtin_popcount(p->bound) < (int)p->devices)
		return INVALID_VALUE;
	if (mmap((void *)ptr, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, p->fd, 0) == MAP_FAILED)
		abort();
	for (int i = 0; i < 64; i++)
		if (!maps[i].ptr) {
			maps[i].ptr = ptr;
			maps[i].physical = p;
			p->references++;
			strcpy(range->name, "mapped");
			return 0;
		}
	abort();
}

int cuMemUnmap(uint64_t ptr, size_t bytes)
{
	ENTER(" %zu", bytes);
	CONTEXT();
	struct object *range = find(RANGE, ptr);
	if (!in_state(range, bytes, "mapped") && !in_state(range, bytes, "open"))
		return INVALID_VALUE;
	if (mmap((void *)ptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		abort();
	for (int i = 0; i < 64; i++)
		if (maps[i].ptr == ptr) {
			maps[i].ptr = 0;
			drop_reference(maps[i].physical);
		}
	strcpy(range->name, "reserved");
	return 0;
}

typedef struct {
	location where;
	int flags;
} access_desc;

_Static_assert(sizeof(access_desc) == 12, "CUmemAccessDesc");

int cuMemSetAccess(uint64_t ptr, size_t bytes, const access_desc *access, size_t count)
{
	ENTER(" %zu", bytes);
	CONTEXT();
	access_desc want = { { 1, device_here() }, 3 };
	struct object *range = find(RANGE, ptr);
	if (!in_state(range, bytes, "mapped") || count != 1 || memcmp(&want, access, sizeof want))
		return INVALID_VALUE;
	if (mprotect((void *)ptr, bytes, PROT_READ | PROT_WRITE))
		abort();
	strcpy(range->name, "open");
	return 0;
}

#endif

/* Multicast objects. */

typedef struct {
	unsigned devices;
	char pad[4];
	size_t bytes;
	unsigned long long handle_types, flags;
} multicast_prop;

_Static_assert(sizeof(multicast_prop) == 32, "CUmulticastObjectProp");

static int wrong_team(const multicast_prop *prop)
{
	multicast_prop want;
	memset(&want, 0, sizeof want);
	want.devices = 2;
	want.bytes = prop->bytes;
	want.handle_types = prop->handle_types == FABRIC_HANDLE ? FABRIC_HANDLE : FILE_HANDLE;
	return memcmp(&want, prop, sizeof want) != 0;
}

#if !defined WITHOUT_VMM && !defined WITHOUT_MULTICAST

int cuMulticastGetGranularity(size_t *bytes, const multicast_prop *prop, int option)
{
	ENTER(" %d", option);
	*bytes = TEAM_GRANULE;
	return wrong_team(prop) || option != 1 ? INVALID_VALUE : 0;
}

int cuMulticastCreate(uint64_t *handle, const multicast_prop *prop)
{
	ENTER(" %zu type %llu", prop->bytes, prop->handle_types);
	CONTEXT();
	if (wrong_team(prop) || !prop->bytes || prop->bytes % TEAM_GRANULE || !able[device_here() - 70].multicast)
		return INVALID_VALUE;
	int fd = memfd_create("fake multicast object", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, prop->bytes))
		abort();
	struct physical *p = add_physical(fd);
	p->handle_type = prop->handle_types;
	p->devices = prop->devices;
	*handle = new_handle(p);
	return 0;
}

int cuMulticastAddDevice(uint64_t handle, int device)
{
	ENTER(" %d", device);
	LIVE(HANDLE, handle);
	struct physical *p = behind(handle);
	unsigned bit = 1u << (device - 70);
	if (!p->devices || p->joined & bit || device != device_here() || !able[device - 70].multicast)
		return INVALID_VALUE;
	p->joined |= bit;
	return 0;
}

/* Binding before all devices are there would wait for them for ever. */
int cuMulticastBindMem(uint64_t handle, size_t offset, uint64_t memory, size_t from, size_t bytes, unsigned long long flags)
{
	ENTER(" %zu", bytes);
	LIVE(HANDLE, handle);
	LIVE(HANDLE, memory);
	struct physical *p = behind(handle), *m = behind(memory);
	unsigned bit = 1u << (device_here() - 70);
	if (!p->devices || m->devices || m->device != device_here() || offset || from || flags || bytes != p->bytes || bytes != m->bytes)
		return INVALID_VALUE;
	if (__builtin_popcount(p->joined) < (int)p->devices || p->bound & bit)
		return INVALID_VALUE;
	p->bound |= bit;
	m->references++;
	make(BINDING, handle, m - physicals);
	return 0;
}

int cuMulticastUnbind(uint64_t handle, int device, size_t offset, size_t bytes)
{
	ENTER(" %d %zu", device, bytes);
	LIVE(HANDLE, handle);
	struct physical *p = behind(handle);
	unsigned bit = 1u << (device - 70);
	struct object *binding = find(BINDING, handle);
	if (!binding || offset || bytes != p->bytes || device != device_here() || !(p->bound & bit))
		return INVALID_VALUE;
	p->bound &= ~bit;
	drop_reference(&physicals[binding->bytes]);
	binding->kind = FREE;
	return 0;
}

#endif
