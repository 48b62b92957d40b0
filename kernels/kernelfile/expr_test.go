package kernelfile

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// evaluate compiles and evaluates a text for the call of these tests, whose grid is 4 and whose block is 128.
func evaluate(text string) (value, error) {
	c := compiler{
		lets:    map[string]*letTerm{"twice": {name: "twice", expr: mustCompile("2 * count")}},
		buffers: newMemory().buffers, first: "input",
	}
	compiled, err := c.compile(text)
	if err != nil {
		return value{}, err
	}
	f := &File{Path: "x.toml"}
	e := env{file: f, call: aCall(), memory: newMemory(), grid: 4, block: 128}
	return e.value(Expr{Text: text, Line: 1, compiled: compiled})
}

func mustCompile(text string) Expr {
	c, err := compiler{}.compile(text)
	if err != nil {
		panic(err)
	}
	return Expr{Text: text, compiled: c}
}

func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		"1 + 2 * 3":                        "7",
		"(rank - 1) % world":               "0",
		"(0 - 5) % 3":                      "-2", // as in C
		"5 % -3":                           "2",
		"count / 2":                        "1001/2",
		"count / 2 * 2":                    "1001",
		"count / 2 + count / 2":            "1001",
		"ceil(count / 2)":                  "501",
		"floor(count / 2)":                 "500",
		"ceil(-count / 2)":                 "-500",
		"floor(-count / 2)":                "-501",
		"ceil(7)":                          "7",
		"ceil(2.1) + floor(2.9)":           "5",
		"0.5 + 1":                          "1.5",
		"1 / 3 + 0.0":                      "0.3333333333333333",
		"min(3, 1, 2) + max(1/2, 1/3)":     "3/2",
		"-2**2":                            "-4", // the library's precedence
		"2**-1":                            "0.5",
		"2**63 - 1 + 2**63":                "18446744073709551615",
		"-2**63":                           "-9223372036854775808",
		"0 - 2**63":                        "-9223372036854775808",
		"9007199254740993 + 0":             "9007199254740993", // no float64
		"9007199254740993 * 3 / 3":         "9007199254740993",
		"bitshl(1, 63)":                    "9223372036854775808",
		"bitshr(2**63, 62)":                "2",
		"bitand(12, 10) * 100":             "800",
		"bitor(12, 10)":                    "14",
		"bitxor(12, 10)":                   "6",
		"bitshr(1, 64)":                    "0",
		"0xff + 1_000":                     "1255",
		"8K":                               "8192",
		"3M":                               "3145728",
		"rank < 2 ? 10 : 20":               "10",
		"rank == 1 and world > 3 ? 1 : 2":  "2",
		"not in_place or false ? 1 : 2":    "1",
		"!(rank != 1) && true ? 1 : 2":     "1",
		"rank == 0 ? 1 / (rank - 1) : 9":   "9", // only what is needed is evaluated
		"rank == 0 and 1 / 0 == 1 ? 1 : 2": "2",
		"1 < 2":                            "true",
		"1 / 2 == 0.5":                     "true",
		"1 / 3 < 1 / 2":                    "true",
		"-1 / 3 > -1 / 2":                  "true",
		"in_place == false":                "true",
		"type":                             "bfloat16",
		"type == 'bf16'":                   "true",
		"type == \"float\"":                "false",
		"op != 'max'":                      "true",
		"twice + grid + block":             "2134",
		"offset('output', 'input')":        "1073741824",
		"offset('input')":                  "0",
		"bytes + size * vectors":           "2254",
		"root + sms + call + m + n + k":    "1933",
		"op == 'a|b;//c' || true":          "true",
		"timeout_ns":                       "5000000000",
		"blocks + i":                       "0",
	} {
		v, err := evaluate(text)
		if err != nil || v.String() != want {
			t.Errorf("%s = %s, %v; want %s", text, v, err, want)
		}
	}
}

// Each error says where in the expression, or with what numbers, it is.
func TestErrorsOfExpressions(t *testing.T) {
	for text, want := range goldenErrors(t, "testdata/errors_of_expressions.txt") {
		_, err := evaluate(text)
		if err == nil || err.Error() != want {
			t.Errorf("%s\n     %v\nwant %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		strings.Repeat("1", maxExprBytes+1): "an expression has at most 1000 bytes",
		"":                                  "the expression is empty",
		strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400) + " + x": "unknown name x",
		nestedChain(30): "takes more than 5000 steps",
	} {
		if _, err := evaluate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.50s: %v, want %s", text, err, want)
		}
	}
}

// nestedChain has the library use each inner part twice, so that the steps double with each level.
func nestedChain(depth int) string {
	text := "1"
	for range depth {
		text = "(0<(" + text + ")<2?1:2)"
	}
	return text
}

// length() evaluates the size of a buffer within an evaluation, which forgets no name for that: here each name would
// double the steps.
func TestNamesAreEvaluatedOnceBesideLengths(t *testing.T) {
	chain := "[let]\na0 = 'count'\n"
	for i := range 50 {
		chain += fmt.Sprintf("a%d = 'min(a%d + length(\"pad\"), a%d + i)'\n", i+1, i, i)
	}
	f, err := Parse("x.toml", []byte(fileHead+chain+"[buffers.pad]\nsize = 'a0 * size'\n"))
	if err != nil {
		t.Fatal(err)
	}
	e := env{file: f, call: Call{Count: 3, ElementBytes: 4}}
	for e.i = range 2 {
		if v, err := e.value(f.Let["a50"]); err != nil || v.String() != fmt.Sprint(3+50*e.i) {
			t.Errorf("a50 is %s, %v", v, err)
		}
	}
}

// An evaluation takes each name once, however often it is used: a chain in which each one uses the one before twice has
// as many steps as names. What all of them take together is limited.
func TestNamesAreEvaluatedOnce(t *testing.T) {
	chain := "[let]\na0 = 'count'\n"
	for i := range 50 {
		chain += fmt.Sprintf("a%d = 'a%d + a%d'\n", i+1, i, i)
	}
	f, err := Parse("x.toml", []byte(fileHead+chain))
	if err != nil {
		t.Fatal(err)
	}
	e := env{file: f}
	for _, count := range []int64{3, 5} { // the second evaluation remembers nothing of the first
		e.call.Count = count
		if v, err := e.value(f.Let["a50"]); err != nil || v.String() != fmt.Sprint(count<<50) {
			t.Errorf("a50 is %s, %v", v, err)
		}
	}
	long := "[let]\n"
	for i := range 10 {
		long += fmt.Sprintf("b%d = '1%s'\n", i, strings.Repeat("+1", 490))
	}
	_, err = Parse("x.toml", []byte(fileHead+long+"all = 'b0+b1+b2+b3+b4+b5+b6+b7+b8+b9'\n"))
	if err == nil || !strings.Contains(err.Error(), "takes more than 5000 steps, with those of [let]") {
		t.Error(err)
	}
}

// Arithmetic is that of fractions of any size, or an error where these have more than 64 bits.
func TestArithmeticIsExact(t *testing.T) {
	operations := map[string]struct {
		ours  func(a, b value) (value, error)
		exact func(z, a, b *big.Rat) *big.Rat
	}{
		"+": {add, (*big.Rat).Add},
		"-": {arithmetic[opSubtract], (*big.Rat).Sub},
		"*": {multiply, (*big.Rat).Mul},
		"/": {divide, (*big.Rat).Quo},
	}
	number := rapid.Custom(func(t *rapid.T) value {
		part := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64Range(1<<32-2, 1<<32+2), rapid.Uint64())
		den := rapid.OneOf(rapid.Just(uint64(1)), rapid.Uint64Range(1, 20), rapid.Uint64Min(1))
		return fraction(rapid.Bool().Draw(t, "negative"), part.Draw(t, "numerator"), den.Draw(t, "denominator"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		name := rapid.SampledFrom([]string{"+", "-", "*", "/"}).Draw(t, "operation")
		if got, want := compare(a, b), rational(a).Cmp(rational(b)); got != want {
			t.Fatalf("comparison of %v and %v is %d, want %d", a, b, got, want)
		}
		got, err := operations[name].ours(a, b)
		if name == "/" && b.num == 0 {
			if err == nil {
				t.Fatal("no error")
			}
			return
		}
		want := operations[name].exact(new(big.Rat), rational(a), rational(b))
		switch whole := a.den == 1 && b.den == 1 && name != "/"; {
		case err == nil && rational(got).Cmp(want) != 0:
			t.Fatalf("%v %s %v = %v, want %v", a, name, b, got, want)
		case err != nil && whole && want.Num().BitLen() <= 64:
			t.Fatalf("%v %s %v: %v, want %v", a, name, b, err, want)
		case err == nil && (got.negative && got.num == 0 || got.den == 0):
			t.Fatalf("%v %s %v = %+v", a, name, b, got)
		}
	})
}

func rational(v value) *big.Rat {
	r := new(big.Rat).SetFrac(new(big.Int).SetUint64(v.num), new(big.Int).SetUint64(v.den))
	if v.negative {
		r.Neg(r)
	}
	return r
}

func TestRoundingOfHalves(t *testing.T) {
	for f, want := range map[float64]uint64{
		0: 0, 1: 0x3c00, -2: 0xc000, 65504: 0x7bff, 65519: 0x7bff, 65520: 0x7c00, 1e9: 0x7c00, -1e9: 0xfc00,
		math.Ldexp(1, -24): 1, math.Ldexp(1, -25): 0, math.Ldexp(3, -25): 2, math.Ldexp(1, -14): 0x400,
		math.Ldexp(2047, -25): 0x400, 1 + math.Ldexp(1, -11): 0x3c00, 1 + math.Ldexp(3, -11): 0x3c02, 2047.0 / 1024: 0x3fff,
	} {
		if got := halfBits(f); got != want {
			t.Errorf("%v is %#x, want %#x", f, got, want)
		}
	}
}
