package execute

import (
	"testing"
	"testing/synctest"
)

// Who comes when all places are taken waits for one that is free.
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
			t.Fatal("a third place of two was taken")
		}
		free()
		if synctest.Wait(); !took {
			t.Error("a place that is free is not taken")
		}
	})
}
