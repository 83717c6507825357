# A page of N paragraphs, for w3m.
n=$1
echo '<html><body><h1>Page</h1>'
i=0
while [ "$i" -lt "$n" ]; do
    echo "<p>Paragraph $i with <b>bold</b>, <a href=\"x$i\">a link</a> and <i>more</i> words to be broken over lines.</p><table border=1><tr><td>$i</td><td>cell</td></tr></table>"
    i=$((i + 1))
done
echo '</body></html>'
