"""Sentences as people write them to an agent: rules for always, rules for once, and what is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Sentences(NamedTuple):
    """Of one language."""

    standing: tuple[str, ...]
    once: tuple[str, ...]
    none: tuple[str, ...]


SENTENCES: Final[Mapping[str, Sentences]] = {
    "English": Sentences(
        ("Always answer in French!", "Under no circumstances push to main.", "Important: keep the old API."),
        ("Don't touch main.py.", "You must run the tests.", "Use tabs instead of spaces here."),
        ("Please look at a.py.", "The build fails on my machine.", "What does this function return?"),
    ),
    "German": Sentences(
        ("Antworte immer auf Deutsch!", "Pushe niemals direkt auf main.",
         "Ab jetzt schreibst du Kommentare auf Englisch.",
         "Unter keinen Umständen darf die Datenbank gelöscht werden.", "Merk dir: Die Tests laufen mit make check.",
         "Wichtig: Die alte Schnittstelle bleibt.", "Bitte nie ohne Rückfrage committen.", "Nie pushen."),
        ("Du musst zuerst die Tests laufen lassen.", "Fass main.py nicht an.",
         "Das darf auf dem Server nicht fehlen.", "Benutze nur die Standardbibliothek.",
         "Ändere die öffentliche API nicht.", "Keine neuen Abhängigkeiten einbauen.",
         "Stelle sicher, dass alles übersetzt.", "Verwende Tabs statt Leerzeichen.", "Vermeide globale Variablen.",
         "DU MUSST DIE TESTS LAUFEN LASSEN!", "Das muesst ihr vorher pruefen."),
        ("Bitte schau dir a.py an.", "Es funktioniert immer noch nicht.", "Das Treffen findet morgen statt.",
         "Wir treffen uns im Mai.", "Danke, das sieht gut aus.", "Kein Problem!", "Nicht schlecht!",
         "Der Server läuft immer langsamer."),
    ),
    "French": Sentences(
        ("Réponds toujours en français.", "Ne pousse jamais sur main.", "En aucun cas tu n'effaces la base.",
         "À partir de maintenant, on écrit en anglais.", "Souviens-toi que le serveur est en lecture seule.",
         "N’oublie pas de lancer les tests.", "Règle : une fonction par fichier."),
        ("Tu dois lancer les tests avant.", "Ne touche pas à main.py.", "N'utilise aucune nouvelle dépendance.",
         "Assure-toi que tout compile.", "Évite les variables globales.", "Evite les variables globales.",
         "Utilise uniquement la bibliothèque standard.", "Il est interdit de modifier ce fichier.",
         "Fais-le sans changer l'API.", "Merci de ne pas modifier le schéma."),
        ("Peux-tu regarder a.py ?", "Ça ne marche toujours pas.", "Si jamais tu vois l'erreur, dis-le-moi.",
         "Merci, c'est très bien.", "La police est en sans-serif."),
    ),
    "Spanish": Sentences(
        ("Responde siempre en español.", "Nunca hagas push a main.",
         "Bajo ninguna circunstancia borres la base de datos.",
         "A partir de ahora escribe los comentarios en inglés.", "Recuerda que el servidor es de solo lectura.",
         "Importante: no cambies la API.", "¡Jamás toques producción!"),
        ("Debes ejecutar las pruebas antes.", "No toques main.py.", "Usa solo la biblioteca estándar.",
         "Está prohibido modificar este archivo.", "Asegúrate de que todo compile.", "Evita las variables globales.",
         "Hazlo sin cambiar la interfaz.", "Usa tabuladores en lugar de espacios.",
         "No utilices bibliotecas nuevas.", "Hay que pasar el linter."),
        ("¿Puedes mirar a.py?", "El servidor no funciona.", "Como siempre, gracias por la ayuda.",
         "No entiendo este error."),
    ),
    "Portuguese": Sentences(
        ("Responda sempre em português.", "Nunca faça push na main.", "Em hipótese alguma apague o banco de dados.",
         "A partir de agora, escreva os comentários em inglês.", "Lembre-se de que o servidor é somente leitura.",
         "Regra: um teste por função."),
        ("Você deve rodar os testes antes.", "Não mexa no main.py.", "Use apenas a biblioteca padrão.",
         "É proibido alterar este arquivo.", "Certifique-se de que tudo compila.", "Evite variáveis globais.",
         "Faça isso sem mudar a API.", "Use tabs em vez de espaços.", "Só use a biblioteca padrão.",
         "Nao altere o esquema."),
        ("Pode olhar o a.py?", "O servidor não funciona.", "Obrigado, ficou ótimo.", "Não entendi este erro."),
    ),
    "Italian": Sentences(
        ("Rispondi sempre in italiano.", "Non fare mai push su main.", "In nessun caso cancellare il database.",
         "D'ora in poi scrivi i commenti in inglese.", "Ricordati che il server è in sola lettura.",
         "Mai toccare la produzione."),
        ("Devi eseguire i test prima.", "Non toccare main.py.", "Usa solo la libreria standard.",
         "È vietato modificare questo file.", "Assicurati che tutto compili.", "Evita le variabili globali.",
         "Fallo senza cambiare l'API.", "Usa i tab invece di spazi."),
        ("Puoi guardare a.py?", "Il server non funziona.", "Come mai fallisce il test?", "Grazie, va benissimo."),
    ),
    "Dutch": Sentences(
        ("Antwoord altijd in het Nederlands.", "Push nooit naar main.", "Onder geen beding de database wissen.",
         "Vanaf nu schrijf je commentaar in het Engels.", "Onthoud dat de server alleen-lezen is.",
         "Belangrijk: de oude API blijft."),
        ("Je moet eerst de tests draaien.", "Raak main.py niet aan.", "Gebruik alleen de standaardbibliotheek.",
         "Je mag dit bestand niet wijzigen.", "Zorg dat alles compileert.", "Vermijd globale variabelen.",
         "Doe het zonder de API te veranderen.", "Gebruik tabs in plaats van spaties.",
         "Geen nieuwe afhankelijkheden toevoegen."),
        ("Kun je naar a.py kijken?", "Het werkt nog altijd slecht op mijn machine.", "De server start langzaam.",
         "Bedankt, ziet er goed uit.", "Geen probleem."),
    ),
    "Polish": Sentences(
        ("Zawsze odpowiadaj po polsku.", "Nigdy nie wypychaj na main.", "Pod żadnym pozorem nie kasuj bazy danych.",
         "Od teraz pisz komentarze po angielsku.", "Pamiętaj, że serwer jest tylko do odczytu.",
         "Ważne: stare API zostaje.", "Wazne: stare API zostaje."),
        ("Musisz najpierw uruchomić testy.", "Nie ruszaj main.py.", "Używaj tylko biblioteki standardowej.",
         "Nie wolno zmieniać tego pliku.", "Upewnij się, że wszystko się kompiluje.", "Unikaj zmiennych globalnych.",
         "Zrób to bez zmiany API.", "Użyj tabulatorów zamiast spacji.", "Nalezy uruchomic testy."),
        ("Czy możesz zajrzeć do a.py?", "Nie rozumiem tego błędu.", "Serwer nie działa.",
         "Nie jestem pewien, co dalej.", "Dzięki, wygląda dobrze."),
    ),
    "Russian": Sentences(
        ("Всегда отвечай по-русски.", "Никогда не пушь в main.", "Ни в коем случае не удаляй базу данных.",
         "С этого момента пиши комментарии на английском.", "Запомни: сервер только для чтения.",
         "Важно: старый API остаётся."),
        ("Ты должен сначала запустить тесты.", "Не трогай main.py.", "Используй только стандартную библиотеку.",
         "Нельзя менять этот файл.", "Убедись, что всё собирается.", "Избегай глобальных переменных.",
         "Сделай это без изменения API.", "Используй табы вместо пробелов.", "Не используйте новые зависимости."),
        ("Посмотри, пожалуйста, a.py.", "Сервер не работает.", "Я не понимаю эту ошибку.",
         "Я только что запустил тест.", "Как всегда, спасибо за помощь."),
    ),
    "Turkish": Sentences(
        ("Her zaman Türkçe cevap ver.", "Asla main dalına push yapma.", "Hiçbir koşulda veritabanını silme.",
         "Bundan sonra yorumları İngilizce yaz.", "Unutma, sunucu salt okunur.", "HİÇBİR ZAMAN silme.",
         "Önemli: eski API kalacak."),
        ("Önce testleri çalıştırmalısın.", "main.py dosyasına dokunma.", "Sadece standart kütüphaneyi kullan.",
         "Bu dosyayı değiştirmek yasak.", "Her şeyin derlendiğinden emin ol.", "Küresel değişkenlerden kaçın.",
         "Bana sormadan commit atma.", "Boşluk yerine sekme kullan.", "Yeni bağımlılık eklemeyin."),
        ("a.py dosyasına bakar mısın?", "Sunucu çalışmıyor.", "Ne yapıyorsun, bir daha anlatır mısın?",
         "Teşekkürler, iyi görünüyor."),
    ),
    "Chinese, simplified": Sentences(
        ("请始终用中文回答。", "绝不要直接推送到main分支。", "任何情况下都不要删除数据库。",
         "从现在开始，注释用英文写。", "记住服务器是只读的。", "每次修改后都要跑测试。", "规则：一个函数一个测试。"),
        ("必须先运行测试。", "不要修改main.py。", "只能使用标准库。", "禁止改动这个文件。", "请确保全部编译通过。",
         "避免使用全局变量。", "别动这个文件。", "用制表符代替空格。", "不得引入新的依赖。"),
        ("请看一下a.py。", "服务器启动很慢。", "还有别的办法吗？", "我记得昨天还好好的。", "谢谢，看起来不错！"),
    ),
    "Chinese, traditional": Sentences(
        ("請始終用中文回答。", "絕不要直接推送到main分支。", "任何情況下都不要刪除資料庫。",
         "從現在開始，註解用英文寫。", "記住伺服器是唯讀的。"),
        ("必須先執行測試。", "請勿修改main.py。", "只能使用標準函式庫。", "嚴禁改動這個檔案。",
         "請確保全部編譯通過。", "別動這個檔案。"),
        ("請看一下a.py。", "伺服器啟動很慢。", "還有別的辦法嗎？", "謝謝，看起來不錯！"),
    ),
    "Japanese": Sentences(
        ("常に日本語で答えてください。", "絶対にmainへプッシュするな。", "どんな場合でもデータベースを消さないで。",
         "今後はコメントを英語で書いてください。", "サーバーは読み取り専用だと覚えておいて。",
         "必ずテストを実行してから進めてください。", "ルール：一つの関数に一つのテスト。"),
        ("先にテストを実行しなければならない。", "main.pyには触らないでください。",
         "標準ライブラリのみ使ってください。", "このファイルの変更は禁止です。", "グローバル変数は避けてください。",
         "APIを変えずに直してください。", "スペースの代わりにタブを使って。", "勝手にコミットしてはいけません。",
         "この設定だけ変更してください。"),
        ("a.pyを見てください。", "サーバーの起動が遅いです。", "いつもありがとうございます。",
         "絶対パスを教えてください。", "非常に遅いです。", "正常に終了しました。", "不要なファイルはどれですか？",
         "メモリを確保する処理はどこ？", "良さそうだけど、どう思う？"),
    ),
    "Korean": Sentences(
        ("항상 한국어로 대답해 주세요.", "절대 main에 푸시하지 마세요.", "어떤 경우에도 데이터베이스를 지우지 마.",
         "앞으로는 주석을 영어로 써 주세요.", "서버는 읽기 전용이라는 걸 기억해.",
         "반드시 테스트를 먼저 돌려 주세요.", "규칙: 함수 하나에 테스트 하나."),
        ("먼저 테스트를 돌려야 합니다.", "main.py는 건드리지 마세요.", "표준 라이브러리만 사용해 주세요.",
         "이 파일을 수정하면 안 됩니다.", "전역 변수는 피하세요.", "API를 바꾸지 말고 고쳐 줘.",
         "스페이스 대신 탭을 써 줘.", "허락 없이 커밋 금지."),
        ("a.py를 봐 주세요.", "서버가 너무 느려요.", "절대 경로를 알려 주세요.", "정말 대단하네요.",
         "고마워요, 좋아 보여요.", "오늘 다시 볼게요."),
    ),
    "Hindi": Sentences(
        ("हमेशा हिंदी में जवाब दें।", "main पर कभी भी पुश न करें।", "किसी भी हालत में डेटाबेस मत मिटाना।",
         "अब से टिप्पणियाँ अंग्रेज़ी में लिखें।", "याद रखें कि सर्वर केवल पढ़ने के लिए है।",
         "नियम: हर फ़ंक्शन का एक टेस्ट।"),
        ("पहले टेस्ट चलाना चाहिए।", "main.py को मत छुओ।", "केवल मानक लाइब्रेरी का उपयोग करें।",
         "इस फ़ाइल को बदलना मना है।", "सुनिश्चित करें कि सब कंपाइल हो।", "ग्लोबल वेरिएबल से बचें।",
         "API बदले बिना ठीक करो।", "स्पेस की जगह टैब लगाओ।"),
        ("कृपया a.py देखें।", "सर्वर बहुत धीमा है।", "मुझे मदद चाहिए।", "धन्यवाद, अच्छा लग रहा है।"),
    ),
    "Arabic": Sentences(
        ("أجب دائمًا بالعربية.", "لا تدفع أبدا إلى main.", "لا تحذف قاعدة البيانات تحت أي ظرف.",
         "من الآن فصاعدا اكتب التعليقات بالإنجليزية.", "تذكر أن الخادم للقراءة فقط.", "مهم: تبقى الواجهة القديمة."),
        ("يجب تشغيل الاختبارات أولا.", "لا تلمس main.py.", "استخدم المكتبة القياسية فقط.", "يُمنع تعديل هذا الملف.",
         "تأكد من أن كل شيء يُترجم.", "تجنب المتغيرات العامة.", "افعل ذلك دون تغيير الواجهة.",
         "استخدم علامات الجدولة بدلا من المسافات."),
        ("من فضلك انظر إلى a.py.", "الخادم بطيء جدا.", "لا توجد مشكلة.", "ما معنى هذا الخطأ؟"),
    ),
}  # fmt: skip
