package main

import "testing"

func TestGCPercent(t *testing.T) {
	for inUse, want := range map[uint64]int{
		0:         100,
		10 << 20:  100,
		20 << 20:  80,
		32 << 20:  50,
		64 << 20:  25,
		512 << 20: 25,
	} {
		if got := gcPercent(inUse); got != want {
			t.Errorf("with %d MB in use it is %d %%, want %d %%", inUse>>20, got, want)
		}
	}
}
