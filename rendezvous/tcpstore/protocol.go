package tcpstore

// The wire, as torch/csrc/distributed/c10d/TCPStore.cpp writes it and
// TCPStoreLibUvBackend.cpp reads it. Both of PyTorch's server backends, the
// plain one and libuv's, speak it alike.
//
// Integers are little-endian. A blob is a length of 8 bytes and that many
// bytes; keys are blobs. "keys" is a count of 8 bytes and that many keys.
//
//	code  request       arguments                reply
//	0     VALIDATE      magic, 4 bytes           none; only as the first request
//	1     SET           key, blob                none
//	2     COMPARE_SET   key, expected, desired   blob: the value afterwards
//	3     GET           key                      blob: empty when missing
//	4     ADD           key, int64               int64: the sum
//	5     CHECK         keys                     byte: 0 all there, 1 not
//	6     WAIT          keys                     byte 0, when all have come
//	7     GETNUMKEYS                             int64
//	8     DELETE_KEY    key                      int64: how many were deleted
//	9     APPEND        key, blob                none
//	10    MULTI_GET     keys                     a blob for each
//	11    MULTI_SET     count, key and blob each none
//	12    CANCEL_WAIT                            byte 1
//	13    PING          4 bytes                  the same 4 bytes
//	14    QUEUE_PUSH    key, blob                none
//	15    QUEUE_POP     key                      int64: the length; a blob unless 0
//	16    QUEUE_LEN     key                      int64
//	17    LIST_KEYS                              keys
//	18    BARRIER       key, int64 world size    byte 0, when all have come
//
// A client that gives up a WAIT or a BARRIER sends CANCEL_WAIT, and takes a 0
// that was under way before the 1.
//
// Until PyTorch 2.0 there was no VALIDATE: requests 1 to 7 had codes 0 to 6,
// code 7 was WATCH_KEY, which nothing in PyTorch sends, and 8 to 12 were as
// they are now. A client of that time gives up a WAIT by saying nothing. It
// opens a second connection for WATCH_KEY, on which it stays silent.
type operation uint8

const (
	opValidate operation = iota
	opSet
	opCompareSet
	opGet
	opAdd
	opCheck
	opWait
	opGetNumKeys
	opDeleteKey
	opAppend
	opMultiGet
	opMultiSet
	opCancelWait
	opPing
	opQueuePush
	opQueuePop
	opQueueLen
	opListKeys
	opBarrier
)

// The bytes that answer CHECK, WAIT, BARRIER and CANCEL_WAIT.
const (
	ready        = 0
	notReady     = 1
	stopWaiting  = 0
	waitCanceled = 1
)

// validateMagic follows VALIDATE.
const validateMagic = 0x3C85F7CE

// generation is which PyTorch a client comes from.
type generation uint8

const (
	current generation = iota // since VALIDATE
	legacy                    // until 2.0
)

const legacyWatchKey = 7

// operation is what a code means, or false for one that this generation
// does not have.
func (g generation) operation(code byte) (operation, bool) {
	op := operation(code)
	switch {
	case g == current:
		return op, op != opValidate && op <= opBarrier
	case code < legacyWatchKey:
		return op + 1, true
	default:
		return op, code > legacyWatchKey && op <= opCancelWait
	}
}

// The fields of requests.
const (
	fieldKey    = 'k' // a blob
	fieldValue  = 'v' // a blob
	fieldNumber = 'i' // 8 bytes
	fieldNonce  = 'p' // 4 bytes
	fieldCount  = 'n' // 8 bytes: how often what follows is repeated
)

// fields are what follows a code: some that come once, and some that come as
// often as a count says.
func (op operation) fields() (once, repeated string) {
	switch op {
	case opGet, opDeleteKey, opQueuePop, opQueueLen:
		return "k", ""
	case opSet, opAppend, opQueuePush:
		return "kv", ""
	case opCompareSet:
		return "kvv", ""
	case opAdd, opBarrier:
		return "ki", ""
	case opCheck, opWait, opMultiGet:
		return "n", "k"
	case opMultiSet:
		return "n", "kv"
	case opPing:
		return "p", ""
	default:
		return "", ""
	}
}
