/* A stand-in for libnvidia-ml.so.1 with as many GPUs as FAKE_GPUS says (two
   where it is unset). FAKE_NVML_INIT is what nvmlInit_v2 returns. It checks
   what the caller hands in: handles, buffer sizes, and that NVML is up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7, UNINITIALIZED = 1 };

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
	*count = number("FAKE_GPUS", 2);
	return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
	if (index >= (unsigned)number("FAKE_GPUS", 2))
		return INVALID_ARGUMENT;
	*device = (nvmlDevice_t)&devices[index];
	return 0;
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
