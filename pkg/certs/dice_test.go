package certs

// dice are thrown in the same way for the same seed, so that a story that ends badly can
// be told again.
type dice struct{ state uint64 }

// throw is splitmix64.
func (d *dice) throw() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 to n-1.
func (d *dice) below(n int) int { return int(d.throw() % uint64(n)) }

// chance is true in so many of a hundred cases.
func (d *dice) chance(percent int) bool { return d.below(100) < percent }
