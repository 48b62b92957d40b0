/* A stand-in for libcublas.so that multiplies matrices in host memory, and at once.
   It takes the one product that gpurun asks for, and checks every argument.
   FAKE_CUBLAS_STREAM says which stream is expected, FAKE_CUBLAS_CREATE what creating
   a handle returns. MAJOR is its major version. It works on the sixteenth of the
   workspace that the caller has to give it, so that one that is no memory is found.

   cc -shared -fPIC -o libcublas.so.13 fakecublas.c */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 13
#endif

enum { SUCCESS = 0, NOT_INITIALIZED = 1, INVALID = 7, NOT_SUPPORTED = 15 };
enum { LIVE = 0x6375626c, OP_N = 0, OP_T = 1, HALF = 2, BFLOAT16 = 14, COMPUTE_32F = 68, DEFAULT = -1 };

typedef struct {
	int live, mode;
	void *stream;
	char *workspace;
	size_t workspace_bytes;
} *cublasHandle_t;

int cublasGetProperty(int property, int *value)
{
	static const int version[] = {MAJOR, 4, 1};
	if (property < 0 || property > 2)
		return INVALID;
	*value = version[property];
	return SUCCESS;
}

const char *cublasGetStatusString(int code) { return code == INVALID ? "the stand-in refuses a value" : "some error"; }

int cublasCreate_v2(cublasHandle_t *handle)
{
	const char *code = getenv("FAKE_CUBLAS_CREATE");
	if (code)
		return atoi(code);
	*handle = calloc(1, sizeof **handle);
	(*handle)->live = LIVE;
	return SUCCESS;
}

static int live(cublasHandle_t h) { return h && h->live == LIVE; }

int cublasDestroy_v2(cublasHandle_t h)
{
	if (!live(h))
		return NOT_INITIALIZED;
	h->live = 0;
	free(h);
	return SUCCESS;
}

int cublasSetMathMode(cublasHandle_t h, int mode)
{
	if (!live(h))
		return NOT_INITIALIZED;
	h->mode = mode;
	return SUCCESS;
}

int cublasSetStream_v2(cublasHandle_t h, void *stream)
{
	if (!live(h))
		return NOT_INITIALIZED;
	h->stream = stream;
	h->workspace = NULL; /* as the library's documentation says */
	return SUCCESS;
}

int cublasSetWorkspace_v2(cublasHandle_t h, void *workspace, size_t bytes)
{
	if (!live(h))
		return NOT_INITIALIZED;
	if ((uintptr_t)workspace % 256)
		return INVALID;
	h->workspace = workspace;
	h->workspace_bytes = bytes;
	return SUCCESS;
}

static float load(int type, const void *from, size_t i)
{
	uint16_t code = ((const uint16_t *)from)[i];
	uint32_t bits = (uint32_t)code << 16;
	float x;
	_Float16 half;
	if (type == HALF) {
		memcpy(&half, &code, 2);
		return (float)half;
	}
	memcpy(&x, &bits, 4);
	return x;
}

static void store(int type, void *to, size_t i, float x)
{
	uint16_t code;
	uint32_t bits;
	_Float16 half = (_Float16)x;
	memcpy(&bits, &x, 4);
	if (type == HALF)
		memcpy(&code, &half, 2);
	else
		code = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); /* ties to even */
	((uint16_t *)to)[i] = code;
}

#ifndef NO_GEMM
/* C(m x n) = A^T B, all by columns: element (i, l) of A^T is element (l, i) of A. */
static void multiply(int type, int m, int n, int k, const void *a, int lda, const void *b, int ldb, void *c, int ldc)
{
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++) {
			float sum = 0;
			for (int l = 0; l < k; l++)
				sum += load(type, a, (size_t)i * lda + l) * load(type, b, (size_t)j * ldb + l);
			store(type, c, (size_t)j * ldc + i, sum);
		}
}

int cublasGemmEx(cublasHandle_t h, int transa, int transb, int m, int n, int k, const float *alpha, const void *a,
                 int atype, int lda, const void *b, int btype, int ldb, const float *beta, void *c, int ctype, int ldc,
                 int compute, int algorithm)
{
	const char *stream = getenv("FAKE_CUBLAS_STREAM");
	if (!live(h))
		return NOT_INITIALIZED;
	if (stream && strtoull(stream, NULL, 0) != (uintptr_t)h->stream)
		return INVALID;
	if (!h->workspace || h->workspace_bytes < 16 || h->mode != 16)
		return INVALID;
	memset(h->workspace, 0xa5, h->workspace_bytes / 16);
	if (transa != OP_T || transb != OP_N || compute != COMPUTE_32F || algorithm != DEFAULT)
		return NOT_SUPPORTED;
	if ((atype != HALF && atype != BFLOAT16) || btype != atype || ctype != atype)
		return NOT_SUPPORTED;
	if (m < 1 || n < 1 || k < 1 || lda < k || ldb < k || ldc < m || *alpha != 1 || *beta != 0)
		return INVALID;
	multiply(atype, m, n, k, a, lda, b, ldb, c, ldc);
	return SUCCESS;
}
#endif
