/* A stand-in for libnvidia-ml.so.1 with as many GPUs as FAKE_GPUS says (two
   where it is unset). FAKE_NVML_INIT is what nvmlInit_v2 returns. It checks
   what the caller hands in: handles, buffer sizes, the versions of structs, and
   that NVML is up. Built with -DOLD it is one of a driver that lacks what came
   with later ones. FAKE_NVML_FABRIC is the newest version of the fabric's struct
   that it knows (3), FAKE_NVML_HEALTH what the questions about health return (0),
   FAKE_NVML_PROCESSES the processes on GPU 0 (1), and FAKE_NVML_SWITCH where
   NVLinks lead: to a switch (1), or from GPU to GPU (0). FAKE_NVML_FAULTS is a
   file that says what has gone wrong so far, in lines: "lost GPU RETURN", where
   questions about that GPU return so, "gone", after which a GPU less is
   counted, and "xid GPU CODE", an event. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, TIMEOUT = 10, VERSION_MISMATCH = 25 };

typedef struct {
	int index;
} *nvmlDevice_t;

typedef struct {
	char busIdLegacy[16];
	unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;

typedef struct {
	unsigned long long total, free, used;
} nvmlMemory_t;

static struct {
	int index;
} devices[16];
static int up;

static int number(const char *name, int otherwise)
{
	const char *text = getenv(name);
	return text ? atoi(text) : otherwise;
}

/* Reads a line of FAKE_NVML_FAULTS behind a position, which it moves. */
static int fault(long *position, char *what, int *gpu, int *code)
{
	char line[80] = "";
	const char *path = getenv("FAKE_NVML_FAULTS");
	FILE *file = path ? fopen(path, "r") : NULL;
	if (!file)
		return 0;
	if (!fseek(file, *position, SEEK_SET) && fgets(line, sizeof line, file))
		*position = ftell(file);
	fclose(file);
	*gpu = *code = 0;
	return sscanf(line, "%15s %d %d", what, gpu, code) > 0;
}

/* How many GPUs are counted, and what questions about one return. */
static int counted(void)
{
	char what[16];
	int gpu, code, count = number("FAKE_GPUS", 2);
	for (long position = 0; fault(&position, what, &gpu, &code);)
		count -= !strcmp(what, "gone");
	return count;
}

static int lost(unsigned index)
{
	char what[16];
	int gpu, code;
	for (long position = 0; fault(&position, what, &gpu, &code);)
		if (!strcmp(what, "lost") && gpu == (int)index)
			return code;
	return 0;
}

static int text(char *to, unsigned size, unsigned least, const char *from)
{
	if (!up)
		return UNINITIALIZED;
	if (size < least)
		return INSUFFICIENT_SIZE;
	memset(to, '#', size); /* the caller must stop at the NUL */
	strcpy(to, from);
	return 0;
}

static int index_of(nvmlDevice_t device)
{
	for (int i = 0; i < number("FAKE_GPUS", 2); i++)
		if ((void *)device == (void *)&devices[i])
			return i;
	return -1;
}

int nvmlInit_v2(void)
{
	int result = number("FAKE_NVML_INIT", 0);
	up += result == 0;
	return result;
}

int nvmlShutdown(void)
{
	if (!up)
		return UNINITIALIZED;
	up--;
	return 0;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	return text(version, length, 80, "580.95.05");
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
	if (!up)
		return UNINITIALIZED;
	*count = counted();
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
	if (index >= (unsigned)counted())
		return INVALID_ARGUMENT;
	*device = (nvmlDevice_t)&devices[index];
	return lost(index);
}

int nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned length)
{
	if (index_of(device) < 0)
		return INVALID_ARGUMENT;
	return text(name, length, 96, "NVIDIA Fake");
}

int nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned length)
{
	char buffer[64];
	int i = index_of(device);
	if (i < 0)
		return INVALID_ARGUMENT;
	/* The same bytes as the fake driver's cuDeviceGetUuid. */
	snprintf(buffer, sizeof buffer, "GPU-%02x010203-0405-0607-0809-0a0b0c0d0e0f", 0xa0 + i);
	return text(uuid, length, 96, buffer);
}

int nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
	int i = index_of(device);
	if (i < 0 || sizeof *pci != 68)
		return INVALID_ARGUMENT;
	memset(pci, 0xee, sizeof *pci);
	pci->domain = 0;
	pci->bus = 0x18 + i;
	pci->device = 0;
	return 0;
}

int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	if (index_of(device) < 0)
		return INVALID_ARGUMENT;
	memory->total = 150ULL << 30;
	memory->free = memory->used = 75ULL << 30;
	return 0;
}

int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
	if (index_of(device) < 0)
		return INVALID_ARGUMENT;
	*major = 9;
	*minor = 0;
	return 0;
}

#ifndef OLD

/* The GPU's index, or -1, with *result what to return: why not, or what the test
   wants. */
static int asked(nvmlDevice_t device, int *result)
{
	int i = up ? index_of(device) : -1;
	*result = !up ? UNINITIALIZED : i < 0 ? INVALID_ARGUMENT : number("FAKE_NVML_HEALTH", 0);
	return *result ? -1 : i;
}

int nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
	return text(version, length, 80, "13.580.95.05");
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	*version = 13000;
	return 0;
}

typedef struct {
	unsigned version;
	unsigned long long total, reserved, free, used;
} nvmlMemory_v2_t;
_Static_assert(sizeof(nvmlMemory_v2_t) == 40, "nvmlMemory_v2_t");

int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	if (memory->version != 0x02000028)
		return VERSION_MISMATCH;
	memory->total = 150ULL << 30;
	memory->reserved = 1ULL << 30;
	memory->used = (unsigned long long)i << 30;
	memory->free = memory->total - memory->reserved - memory->used;
	return 0;
}

typedef struct {
	unsigned gpu, memory;
} nvmlUtilization_t;

int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	utilization->gpu = 40 + i;
	utilization->memory = 99;
	return 0;
}

int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	*current = 0;
	*pending = i == 1;
	return 0;
}

int nvmlDeviceGetEccMode(nvmlDevice_t device, int *current, int *pending)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	*current = 1;
	*pending = i == 0;
	return 0;
}

int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int kind, int counter, unsigned long long *count)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	if (counter != 0 || kind < 0 || kind > 1)
		return INVALID_ARGUMENT;
	*count = 0x100000000ULL * (kind + 1) + i;
	return 0;
}

int nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *correctable, unsigned *uncorrectable, unsigned *pending,
			      unsigned *failed)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	*correctable = 3;
	*uncorrectable = 4;
	*pending = i == 0;
	*failed = i == 1;
	return 0;
}

typedef struct {
	unsigned pid;
	unsigned long long bytes;
	unsigned gpu_instance, compute_instance;
} nvmlProcessInfo_t;
_Static_assert(sizeof(nvmlProcessInfo_t) == 24, "nvmlProcessInfo_t");

int nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *count, nvmlProcessInfo_t *infos)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	unsigned room = *count;
	*count = i == 0 ? number("FAKE_NVML_PROCESSES", 1) : 0;
	if (*count > room)
		return INSUFFICIENT_SIZE;
	for (unsigned k = 0; k < *count; k++)
		infos[k] = (nvmlProcessInfo_t){4000 + k, k ? ~0ULL : 7ULL << 30, ~0u, ~0u};
	return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device, unsigned long long *reasons)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	*reasons = i == 0 ? 0x08 | 0x80 : 0x08 | 0x40;
	return 0;
}

typedef struct {
	unsigned version;
	unsigned char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
	unsigned health;
	unsigned char summary;
} nvmlGpuFabricInfo_v3_t;
_Static_assert(sizeof(nvmlGpuFabricInfo_v3_t) == 40, "nvmlGpuFabricInfo_v3_t");

int nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfo_v3_t *info)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	int newest = number("FAKE_NVML_FABRIC", 3);
	if (info->version != 0x02000024 && !(newest == 3 && info->version == 0x03000028))
		return newest == 3 ? VERSION_MISMATCH : INVALID_ARGUMENT;
	memset(info->cluster, 0xc0, 16);
	info->status = 15;
	info->clique = 77;
	info->state = i == 0 ? 3 : 0;
	info->health = 1 | 2 << 4;
	if (info->version == 0x03000028)
		info->summary = 2;
	return 0;
}

int nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t a, nvmlDevice_t b, int *path)
{
	if (!up)
		return UNINITIALIZED;
	int i = index_of(a), j = index_of(b);
	if (i < 0 || j < 0)
		return INVALID_ARGUMENT;
	*path = i / 2 == j / 2 ? 10 : 50;
	return 0;
}

int nvmlDeviceGetP2PStatus(nvmlDevice_t a, nvmlDevice_t b, int capability, int *status)
{
	if (!up)
		return UNINITIALIZED;
	if (index_of(a) < 0 || index_of(b) < 0 || capability != 2)
		return INVALID_ARGUMENT;
	*status = index_of(a) / 2 == index_of(b) / 2 ? 0 : 4;
	return 0;
}

/* Each GPU has four links, of which the third is down, and no fifth. */
int nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, int *active)
{
	if (index_of(device) < 0 || link >= 4)
		return INVALID_ARGUMENT;
	*active = link != 2;
	return 0;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link, nvmlPciInfo_t *pci)
{
	int i = index_of(device);
	if (i < 0 || link >= 4 || link == 2)
		return INVALID_ARGUMENT;
	memset(pci, 0, sizeof *pci);
	pci->bus = number("FAKE_NVML_SWITCH", 1) ? 0x80 : 0x18 + (i ^ 1);
	return 0;
}

/* An event set remembers which GPUs are watched, and what it has read. */
typedef struct {
	unsigned watched;
	long position;
} *nvmlEventSet_t;

typedef struct {
	nvmlDevice_t device;
	unsigned long long type, data;
	unsigned gpu_instance, compute_instance;
} nvmlEventData_t;
_Static_assert(sizeof(nvmlEventData_t) == 32, "nvmlEventData_t");

// Makes the file FAKE_NVML_FAULTS.watched: who waits for it fails when somebody watches.
static void note_watched(void)
{
	char path[4096];
	const char *faults = getenv("FAKE_NVML_FAULTS");
	FILE *f;
	if (!faults)
		return;
	snprintf(path, sizeof path, "%s.watched", faults);
	if ((f = fopen(path, "w")))
		fclose(f);
}

int nvmlEventSetCreate(nvmlEventSet_t *set)
{
	if (!up)
		return UNINITIALIZED;
	*set = calloc(1, sizeof **set);
	note_watched();
	return 0;
}

int nvmlEventSetFree(nvmlEventSet_t set)
{
	free(set);
	return 0;
}

int nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set)
{
	int result, i = asked(device, &result);
	if (i < 0)
		return result;
	if (types != 8)
		return INVALID_ARGUMENT;
	set->watched |= 1u << i;
	return 0;
}

int nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned milliseconds)
{
	char what[16];
	int gpu, code;
	if (!up || milliseconds)
		return !up ? UNINITIALIZED : INVALID_ARGUMENT;
	while (fault(&set->position, what, &gpu, &code)) {
		if (strcmp(what, "xid") || !(set->watched >> gpu & 1))
			continue;
		*data = (nvmlEventData_t){(nvmlDevice_t)&devices[gpu], 8, code, ~0u, ~0u};
		return 0;
	}
	return TIMEOUT;
}

#endif
