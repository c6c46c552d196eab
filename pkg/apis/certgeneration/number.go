// Package certgeneration counts certificate generations. Other clients can change the numbers, which are in
// annotations and in subjects of CAs. So no number is the last (1 follows 2^32-1), and a number that is far
// from another proves nothing: an edited count continues, and what was noted before is written again.
package certgeneration

import (
	"math"
	"strconv"
)

// window is how many numbers after one are later than it: more than the rotations between a backup and its
// restoration, and too few to lead around all numbers by one edit of each registration.
const window = 1 << 16

// Parse reads a number. It is 0, which is no generation's number, for any other text.
func Parse(text string) int64 {
	number, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return int64(number)
}

// After is the number that follows another.
func After(number int64) int64 {
	if number >= math.MaxUint32 {
		return 1
	}
	return number + 1
}

// Later reports whether a number is in the window after another. Each number is later than 0.
func Later(number, than int64) bool {
	if number == 0 || than == 0 {
		return number != 0
	}
	steps := uint32(number) - uint32(than)
	return steps > 0 && steps <= window
}

// AtLeast reports whether a number is another, or later.
func AtLeast(number, than int64) bool {
	return number == than || Later(number, than)
}

// Latest returns the latest of the given numbers; it returns 0 when all of them are 0.
func Latest(number int64, others ...int64) int64 {
	for _, other := range others {
		if Later(other, number) {
			number = other
		}
	}
	return number
}
