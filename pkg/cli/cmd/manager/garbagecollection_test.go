package manager

import "testing"

func TestGCPercent(t *testing.T) {
	for inUse, want := range map[uint64]int{
		0:         100,
		30 << 20:  100,
		40 << 20:  50,
		48 << 20:  25,
		60 << 20:  10,
		512 << 20: 10,
	} {
		if got := gcPercent(inUse); got != want {
			t.Errorf("with %d MB in use it is %d %%, want %d %%", inUse>>20, got, want)
		}
	}
}
