package takeover

import (
	"errors"
	"strconv"

	"github.com/spf13/pflag"
)

// positive is the value of a flag that is at least 1. With 0, a command would wait for a change that it never makes.
type positive[T int | int32] struct {
	value *T
	kind  string
}

// addPositive adds a flag that is at least 1.
func addPositive[T int | int32](flags *pflag.FlagSet, value *T, name string, standard T, usage string) {
	*value = standard
	kind := "int"
	if _, is := any(standard).(int32); is {
		kind = "int32"
	}
	flags.Var(positive[T]{value, kind}, name, usage)
}

// Set reads the value. The package pflag adds the name of the flag to the error.
func (p positive[T]) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return err
	}
	if n < 1 {
		return errors.New("it must be at least 1")
	}
	*p.value = T(n)
	return nil
}

// String returns the value, or the empty string for the zero value of the type, which pflag compares with.
func (p positive[T]) String() string {
	if p.value == nil {
		return ""
	}
	return strconv.FormatInt(int64(*p.value), 10)
}

// Type returns the type that the help shows.
func (p positive[T]) Type() string { return p.kind }
