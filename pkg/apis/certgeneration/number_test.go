package certgeneration

import (
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "4294967295": math.MaxUint32, "4294967296": 0, "-1": 0, "": 0, "x": 0, "0": 0} {
		installtest.Same(t, fmt.Sprintf("Parse(%q)", text), want, Parse(text))
	}
}

// No number is the last: each is followed by a later one that Parse reads.
func TestAfter(t *testing.T) {
	for _, number := range []int64{0, 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32 - 1, math.MaxUint32} {
		next := After(number)
		if Parse(strconv.FormatInt(next, 10)) != next || next == 0 {
			t.Errorf("After(%d) = %d, which cannot be read again", number, next)
		}
		if !Later(next, number) || Later(number, next) && number != 0 {
			t.Errorf("After(%d) = %d, which is not later", number, next)
		}
	}
}

func TestLater(t *testing.T) {
	for _, c := range []struct {
		number, than   int64
		later, atLeast bool
	}{
		{0, 0, false, true}, {1, 0, true, true}, {0, 1, false, false}, {math.MaxUint32, 0, true, true},
		{2, 1, true, true}, {1, 2, false, false}, {1, 1, false, true},
		{1, math.MaxUint32, true, true}, {math.MaxUint32, 1, false, false},
		{1 + window, 1, true, true}, {2 + window, 1, false, false},
		{math.MaxInt32, 1, false, false}, {1, math.MaxInt32, false, false},
	} {
		if later, atLeast := Later(c.number, c.than), AtLeast(c.number, c.than); later != c.later || atLeast != c.atLeast {
			t.Errorf("%d is later than %d: %t, at least: %t; want %t, %t", c.number, c.than, later, atLeast, c.later, c.atLeast)
		}
	}
}

func TestLatest(t *testing.T) {
	for _, c := range []struct {
		number int64
		others []int64
		want   int64
	}{
		{0, nil, 0}, {0, []int64{0, 4}, 4}, {3, []int64{1, 2}, 3}, {1, []int64{2, 4, 3}, 4},
		{math.MaxUint32, []int64{5}, 5}, {5, []int64{math.MaxUint32}, 5}, {5, []int64{3_000_000_000}, 5}, {3_000_000_000, []int64{5}, 3_000_000_000},
	} {
		installtest.Same(t, fmt.Sprintf("Latest(%d, %v)", c.number, c.others), c.want, Latest(c.number, c.others...))
	}
}
