// How the general kernels take in elements that a thread has on the way of one result, where that takes fewer
// instructions together than one after the other.
#pragma once

//   add<N>(s, x, there, first, apart)   the State `s` with those x(j) of j < N for which there(j), as the
//   first
//                                       always is; their positions are first + j * apart
// `contest`: that it keeps the place of the best one, for which see brief.cuh.
template <class F, class In> struct Together { static constexpr bool there = false, contest = false; };
