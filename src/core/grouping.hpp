// Rows grouped by element, nobody twice.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "array.hpp"
#include "blocks.hpp"
#include "graph.hpp"
#include "interrupt.hpp"
#include "key_numbers.hpp"
#include "sort.hpp"

namespace dpdistinct {

// A pair whose person has a number already. Twelve bytes.
struct Row {
    Row(std::uint64_t key, Person number)
        : low(static_cast<std::uint32_t>(key)), high(static_cast<std::uint32_t>(key >> 32)), person(number) {}
    std::uint64_t element() const { return std::uint64_t{high} << 32 | low; }

    std::uint32_t low, high;  // of the element's key
    Person person;
};

// Groups one list of rows after another, in the same memory: a table of the elements, then a counting sort.
class Grouping {
   public:
    explicit Grouping(Person people) : seen_(people / 64 + 1, 0) {}

    // Takes more rows for the next call of by_element().
    void take(Blocks<Row>& rows) {
        std::size_t i = element_.size();
        element_.resize(i + rows.size());
        person_.resize(i + rows.size());
        rows.drain([&](const Row* row, const Row* last) {
            for (; row != last; ++row, ++i) {
                if (last - row > 16) elements_.prepare(row[16].element(), row[8].element());
                element_[i] = elements_(row->element());
                person_[i] = row->person;
                if (element_[i] == end_.size()) end_.push_back(0);
                ++end_[element_[i]];
            }
        });
    }

    // Calls use(key, people) for the elements of the rows that were taken, in the order of their keys.
    template <class Use>
    void by_element(Interrupt& interrupt, Use use) {
        interrupt.worked(person_.size());
        const std::span<const Pair> order = elements_in_order(interrupt);
        std::uint64_t sum = 0;
        for (const Pair& element : order) sum += std::exchange(end_[element.person], sum);  // where it begins
        grouped_.resize(person_.size());
        for (std::size_t i = 0; i < person_.size(); ++i) grouped_[end_[element_[i]]++] = person_[i];
        Person* first = grouped_.data();
        for (const Pair& element : order) {
            Person* const last = grouped_.data() + end_[element.person];
            use(element.element, without_repetition({first, last}));
            first = last;
        }
        elements_.clear();
        element_.clear();
        person_.clear();
        end_.clear();
    }

   private:
    // Pairs of a key and its number, by key.
    std::span<const Pair> elements_in_order(Interrupt& interrupt) {
        const Array<std::uint64_t>& keys = elements_.keys();
        unsorted_.resize(keys.size());
        sorted_.resize(keys.size());
        for (std::size_t i = 0; i < keys.size(); ++i) unsorted_[i] = {keys[i], i};
        radix_sort(unsorted_.data(), keys.size(), sorted_.data(), interrupt);
        return sorted_;
    }

    std::span<const Person> without_repetition(std::span<Person> people) {
        if (people.size() == 1) return people;
        auto end = people.begin();
        for (const Person p : people) {  // no branch: the processor cannot predict which rows repeat others
            std::uint64_t& word = seen_[p / 64];
            const bool fresh = ~word >> p % 64 & 1;
            word |= std::uint64_t{1} << p % 64;
            *end = p;
            end += fresh;
        }
        const std::span<const Person> distinct(people.begin(), end);
        for (const Person p : distinct) seen_[p / 64] = 0;
        return distinct;
    }

    KeyNumbers elements_;
    Array<std::uint32_t> element_;     // of each row, its number
    Array<Person> person_;             // of each row
    Array<std::uint64_t> end_;         // of each element: how many rows, then where they begin, then where they end
    Array<Pair> unsorted_, sorted_;
    Array<Person> grouped_;
    std::vector<std::uint64_t> seen_;  // one bit for each person; all zero between elements
};

}  // namespace dpdistinct
