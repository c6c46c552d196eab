package execute

import (
	"testing"
	"testing/synctest"
)

// A caller waits for a free slot when all slots are taken.
func TestProcessors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := make(Processors, 2)
		free := p.take()
		p.take()
		took := false
		go func() {
			p.take()
			took = true
		}()
		if synctest.Wait(); took {
			t.Fatal("a third slot of two was taken")
		}
		free()
		if synctest.Wait(); !took {
			t.Error("a free slot is not taken")
		}
	})
}
