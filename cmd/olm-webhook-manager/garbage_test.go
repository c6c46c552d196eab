package main

import "testing"

func TestGCPercent(t *testing.T) {
	for inUse, want := range map[uint64]int{
		0:         100,
		8 << 20:   100,
		16 << 20:  50,
		32 << 20:  25,
		64 << 20:  15,
		512 << 20: 15,
	} {
		if got := gcPercent(inUse); got != want {
			t.Errorf("with %d MB in use it is %d %%, want %d %%", inUse>>20, got, want)
		}
	}
}
