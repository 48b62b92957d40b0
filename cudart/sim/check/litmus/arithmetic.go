package litmus

import "errors"

// calculate is an operation of two numbers. The numbers of a test are not bounded by a type of PTX.
func calculate(operation string, a, b int64) (int64, error) {
	switch operation {
	case "add":
		return a + b, nil
	case "sub":
		return a - b, nil
	case "mul":
		return a * b, nil
	case "div":
		if b == 0 {
			return 0, errors.New("division by zero")
		}
		return a / b, nil
	case "and":
		return a & b, nil
	case "or":
		return a | b, nil
	case "xor":
		return a ^ b, nil
	case "min":
		return min(a, b), nil
	case "max":
		return max(a, b), nil
	case "inc":
		if a >= b {
			return 0, nil
		}
		return a + 1, nil
	case "dec":
		if a == 0 || a > b {
			return b, nil
		}
		return a - 1, nil
	}
	return 0, errors.New("unknown operation " + operation)
}
