package workload

import "gpurun/kernels/collective"

// needed are the areas that an algorithm, a pointer to one, needs for a case.
type needed struct {
	algorithm any
	areas     []collective.Area
}

// withAreas makes room for the areas of each algorithm, as large as the largest case needs them.
func (l Layout) withAreas(all []needed) Layout {
	l.Areas = map[any][]collective.PlacedArea{}
	var order []any
	for _, n := range all {
		if l.Areas[n.algorithm] == nil {
			order = append(order, n.algorithm)
			l.Areas[n.algorithm] = make([]collective.PlacedArea, len(n.areas))
		}
		for i, area := range n.areas {
			placed := &l.Areas[n.algorithm][i]
			area.Bytes = max(area.Bytes, placed.Bytes)
			placed.Area = area
		}
	}
	for _, a := range order {
		for i := range l.Areas[a] {
			if area := &l.Areas[a][i]; !area.Host {
				area.Offset = l.takeGuarded(area.Total())
			}
		}
	}
	return l
}

// areasOf lists what cases of collectives need. A case whose areas have no size was refused before: see chooser.refuse.
func areasOf(cases []Case, sms int) (all []needed) {
	for _, c := range cases {
		if c.Algorithm.Areas == nil {
			continue
		}
		if areas, err := c.Algorithm.Areas(c.world, sms, c.Call); err == nil {
			all = append(all, needed{c.Algorithm, areas})
		}
	}
	return all
}

// areasOfProducts is areasOf for products: see refuseProduct.
func areasOfProducts(cases []ProductCase, world, sms int) (all []needed) {
	for _, c := range cases {
		if c.Algorithm.Areas == nil {
			continue
		}
		if areas, err := c.Algorithm.Areas(c.Problem, world, sms); err == nil {
			all = append(all, needed{c.Algorithm, areas})
		}
	}
	return all
}
