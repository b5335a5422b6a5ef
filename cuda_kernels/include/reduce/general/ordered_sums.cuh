// Sums, means, products and dot products of floating-point numbers, whose bits depend on the order of the
// elements.
#pragma once

#include <type_traits>

#include "reduce/accumulate.cuh"
#include "reduce/general/lanes.cuh"

namespace gr::reduce {

template <class In> constexpr bool is_ordered<Sum<In>> = !std::is_integral<Wide<In>>::value;
template <class In> constexpr bool is_ordered<Mean<In>> = !std::is_integral<Wide<In>>::value;
template <class In> constexpr bool is_ordered<MaskedMean<In>> = !std::is_integral<Wide<In>>::value;
template <class In> constexpr bool is_ordered<Prod<In>> = !std::is_integral<Wide<In>>::value;
template <class In> constexpr bool is_ordered<Dot<In>> = !std::is_integral<Wide<In>>::value;

} // namespace gr::reduce
